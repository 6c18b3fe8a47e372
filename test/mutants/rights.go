package main

const (
	rightsPackage = "./test/policy"
	gainsNothing  = "TestTheOperatorsAccountGainsNothingBeyondItsWork"
	ownObjects    = "config/policy/own-objects.yaml"
	plainObjects  = "config/policy/plain-objects.yaml"

	restrictedPods   = "config/policy/restricted-pods.yaml"
	namespacesPolicy = "config/policy/namespaces.yaml"
)

// rights are bugs of what the operator's account may write.
var rights = []mutant{
	{
		Name:    "the operator may take over what it did not make",
		File:    ownObjects,
		From:    "expression: variables.isNew || variables.isLabelled || variables.isOwned || variables.isWritten",
		To:      "expression: variables.isNew || variables.isLabelled || object != null",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a volume that lost all labels is foreign to the policies",
		File:    ownObjects,
		From:    " || variables.isWritten",
		To:      "",
		Package: rightsPackage, Test: "TestWhatTheOperatorDoesToItsOwnObjectsPasses",
	},
	{
		Name:    "init containers may be privileged",
		File:    restrictedPods,
		From:    " + variables.pod.?initContainers.orValue([])",
		To:      "",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "the policies know the account in one namespace only",
		File:    ownObjects,
		From:    "endsWith('etcd-steward-controller-manager')",
		To:      "endsWith(':etcd-steward-system:etcd-steward-controller-manager')",
		Package: rightsPackage, Test: "TestTheAccountIsKnownInEachNamespaceAndByEachPrefix",
	},
	{
		Name:    "an owner that the garbage collector cannot look up passes",
		File:    ownObjects,
		From:    "o.apiVersion == 'etcdsteward.dev/v1alpha1' && o.kind in",
		To:      "o.apiVersion.startsWith('etcdsteward.dev/') && o.kind in",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "an object may have a second owner, which lives",
		File:    ownObjects,
		From:    "variables.owners.all(o,",
		To:      "variables.owners.size() == 0 || variables.owners.exists(o,",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "an object may lose its owner",
		File:    ownObjects,
		From:    "!variables.isNew && variables.before.?ownerReferences.orValue([]).size() == 0",
		To:      "!variables.isNew",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a Pod that lost its owner cannot be changed any more",
		File:    ownObjects,
		From:    "variables.owners.size() > 0 ||\n      !variables.isNew && variables.before.?ownerReferences.orValue([]).size() == 0",
		To:      "variables.owners.size() > 0",
		Package: rightsPackage, Test: "TestWhatTheOperatorDoesToItsOwnObjectsPasses",
	},
	{
		Name:    "a Job may be deleted without its Pods",
		File:    ownObjects,
		From:    "!variables.isDeleted || variables.resource != 'jobs' ||",
		To:      "true ||",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a claim that waits may be given a certain volume",
		File:    plainObjects,
		From:    "'dataSourceRef'].all(field, object.spec[?field] == variables.before[?field])",
		To:      "'dataSourceRef'].all(field, oldObject != null || !(field in object.spec))",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a volume that is bound cannot grow",
		File:    plainObjects,
		From:    "'dataSourceRef'].all(field, object.spec[?field] == variables.before[?field])",
		To:      "'dataSourceRef'].all(field, !(field in object.spec))",
		Package: rightsPackage, Test: "TestWhatTheOperatorDoesToItsOwnObjectsPasses",
	},
	{
		Name:    "Kubernetes makes any claim for a Pod",
		File:    restrictedPods,
		From:    "'emptyDir', 'persistentVolumeClaim'",
		To:      "'emptyDir', 'ephemeral', 'persistentVolumeClaim'",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a budget or a network policy may select every Pod",
		File:    plainObjects,
		From:    "!(variables.kind in ['networkpolicies', 'poddisruptionbudgets', 'services']) ||",
		To:      "variables.kind != 'services' ||",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a network policy may select members of every cluster",
		File:    plainObjects,
		From:    "variables.labels[?'app.kubernetes.io/instance'].orValue('') != '' ||",
		To:      "true ||",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a Service that a person turned away cannot be marked",
		File:    plainObjects,
		From:    "object.spec[?field] == variables.before[?field]) && oldObject != null",
		To:      "oldObject == object)",
		Package: rightsPackage, Test: "TestWhatTheOperatorDoesToItsOwnObjectsPasses",
	},
	{
		Name:    "a hook may ask any host from the network of its node",
		File:    restrictedPods,
		From:    ", c.?lifecycle.postStart, c.?lifecycle.preStop]",
		To:      "]",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "the template of a Job that waits is not looked at again",
		File:    restrictedPods,
		From:    " || object.spec.template != oldObject.spec.template",
		To:      "",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a Job to whose Pods a webhook added cannot be written on",
		File:    restrictedPods,
		From:    "request.operation == 'CREATE' || object.spec.template != oldObject.spec.template",
		To:      "object != null",
		Package: rightsPackage, Test: "TestWhatTheOperatorDoesToItsOwnObjectsPasses",
	},
	{
		Name:    "the operator's Pods run as any account",
		File:    namespacesPolicy,
		From:    "variables.account == 'default' || variables.isNamed",
		To:      "variables.account == 'default' || object != null",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "the operator's Pods have the cloud's identity of the default account unasked",
		File:    namespacesPolicy,
		From:    "      variables.isNamed || variables.pod.?volumes",
		To:      "      variables.account == 'default' || variables.pod.?volumes",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "an account in the middle of a list is not listed",
		File:    namespacesPolicy,
		From:    "a.trim() == variables.account",
		To:      "a == variables.account",
		Package: rightsPackage, Test: "TestTokensForMeshesPassAndThoseForCloudsWhereTheNamespaceNamesTheAccount",
	},
	{
		Name:    "the operator works in kube-system unasked",
		File:    namespacesPolicy,
		From:    "['kube-node-lease', 'kube-public', 'kube-system']",
		To:      "['kube-node-lease', 'kube-public']",
		Package: rightsPackage, Test: gainsNothing,
	},
	{
		Name:    "a member's Pod is made with the token of an account",
		File:    "controllers/resources/pod.go",
		From:    "AutomountServiceAccountToken: new(false),",
		To:      "AutomountServiceAccountToken: nil,",
		Package: applyPackage, Test: "TestABirthStaysWithinItsWrites",
	},
	{
		Name:    "an annotation of the spec turns AppArmor off",
		File:    "controllers/resources/dress.go",
		From:    "maps.DeleteFunc(annotations, v1alpha1.Loosens)",
		To:      "",
		Package: "./controllers/resources", Test: "TestAnAnnotationThatLoosensAPodIsLeftOut",
	},
	{
		Name:    "a cluster that has had such an annotation is not looked after any more",
		File:    "controllers/admission/admission.go",
		From:    "	return append(errs, validateModes(&c.Spec, spec)...)",
		To:      "	return append(append(errs, loosened(&c.Spec)...), validateModes(&c.Spec, spec)...)",
		Package: "./controllers/admission", Test: "TestAClusterThatLoosensItsPodsAlreadyIsKeptAliveAndNotMadeAnew",
	},
	{
		Name:    "a profile of AppArmor is taken from a Pod that exists, which Kubernetes refuses for ever",
		File:    "controllers/resources/dress.go",
		From:    "if object.GetUID() != \"\" {",
		To:      "if false {",
		Package: resourcesPackage, Test: "TestAProfileOfAppArmorStaysOnAPodThatExists",
	},
}
