package admission_test

import "strings"

const (
	noTLSAtOnce     = "spec.tls.mode cannot go from Managed to Disabled at once: clients with TLS would be cut off. Set Permissive"
	onlyTLSAtOnce   = "spec.tls.mode cannot go from Disabled to Managed at once: clients without TLS would be cut off. Set Permissive"
	noOtherBalancer = "spec.service.loadBalancerClass cannot be changed, added or removed while spec.service.type stays LoadBalancer: " +
		"Kubernetes does not allow it; set another type first"
)

const noOtherUser = "spec.pod.securityContext.runAsUser cannot change while fsGroup stays the same: the new user could not read the data. " +
	"Change or remove fsGroup as well, or set fsGroupChangePolicy to Always"

const knownNetwork = "type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24]"

// withoutTLS is a spec with this Service, and what else there is.
func withoutTLS(service string, more ...string) string {
	return "spec: {" + strings.Join(append(more, "tls: {mode: Disabled}, service: {"+service+"}"), ", ") + "}"
}

// ids is a spec with these IDs.
func ids(text string) string { return "spec: {pod: {securityContext: {" + text + "}}}" }

// annotated is a spec with this profile of AppArmor.
func annotated(profile string) string {
	return "spec: {pod: {annotations: {container.apparmor.security.beta.kubernetes.io/etcd: " + profile + "}}}"
}

// change is what may or may not become of an existing cluster; says is empty when it may.
type change struct{ name, before, after, field, says string }

// changesOfOlder may become of what an older definition let in and this one refuses to create.
var changesOfOlder = []change{
	{"one that is open already grows", withoutTLS("type: NodePort"), withoutTLS("type: NodePort", "size: 5"), "", ""},
	{"one that is open already is closed", withoutTLS("type: NodePort"), withoutTLS(knownNetwork), "", ""},
	{"one whose profile of AppArmor is turned off grows", annotated("unconfined"),
		"spec: {size: 5, pod: {annotations: {container.apparmor.security.beta.kubernetes.io/etcd: unconfined}}}", "", ""},
	{"a profile of AppArmor that was turned off is put back", annotated("unconfined"), annotated("runtime/default"), "", ""},
}

// changes are tried on a real API server too, which first stores what was before.
var changes = []change{
	{"TLS is turned off", "", "spec: {tls: {mode: Disabled}}", "spec.tls", noTLSAtOnce},
	{"TLS is turned on", "spec: {tls: {mode: Disabled}}", "spec: {tls: {mode: Managed}}", "spec.tls", onlyTLSAtOnce},
	{"TLS is turned on by removing the mode", "spec: {tls: {mode: Disabled}}", "spec: {tls: {}}", "spec.tls", onlyTLSAtOnce},
	{"TLS is turned on by removing the section", "spec: {tls: {mode: Disabled}}", "", "spec.tls", onlyTLSAtOnce},
	{"TLS becomes possible", "spec: {tls: {mode: Disabled}}", "spec: {tls: {mode: Permissive}}", "", ""},
	{"TLS becomes the only way", "spec: {tls: {mode: Permissive}}", "", "", ""},
	{"clients without TLS are let in", "", "spec: {tls: {mode: Permissive}}", "", ""},
	{"TLS is turned off after that", "spec: {tls: {mode: Permissive}}", "spec: {tls: {mode: Disabled}}", "", ""},
	{"clients without TLS are let in while authentication is on", "spec: {auth: {enabled: true}}",
		"spec: {tls: {mode: Permissive}, auth: {enabled: true}}", "spec.auth", "spec.auth.enabled needs spec.tls.mode Managed"},
	{"clients without TLS are let in on every node", "spec: {service: {type: NodePort}}",
		"spec: {tls: {mode: Permissive}, service: {type: NodePort}}", "spec.service", "spec.service.type is NodePort while spec.tls.mode is Permissive"},
	{"authentication is turned on", "", "spec: {auth: {enabled: true}}", "", ""},
	{"authentication is turned off", "spec: {auth: {enabled: true}}", "spec: {auth: {enabled: false}}", "", ""},
	{"authentication is left to people", "spec: {auth: {enabled: true}}", "", "", ""},
	{"the default TLS mode is spelled out", "", "spec: {tls: {mode: Managed}}", "", ""},
	{"the default TLS mode is no longer spelled out", "spec: {tls: {mode: Managed}}", "", "", ""},

	{"names in certificates are added, changed and taken away", "spec: {tls: {extraSANs: [a.example.com, b.example.com]}}",
		"spec: {tls: {extraSANs: [c.example.com]}}", "", ""},
	{"a CA of one's own is named", "", "spec: {tls: {clientCA: {secretRef: {name: corp}}}}", "", ""},
	{"another one is named", "spec: {tls: {clientCA: {secretRef: {name: corp}}}}", "spec: {tls: {clientCA: {secretRef: {name: other}}, peerCA: {secretRef: {name: corp}}}}", "", ""},
	{"an issuer is named in its place", "spec: {tls: {clientCA: {secretRef: {name: corp}}}}", "spec: {tls: {clientCA: {issuerRef: {name: corp}}}}", "", ""},
	{"none is named any more", "spec: {tls: {clientCA: {secretRef: {name: corp}}}}", "", "", ""},
	{"names in certificates are all taken away", "spec: {tls: {extraSANs: [a.example.com]}}", "", "", ""},

	{"the storage class changes", "spec: {storage: {storageClassName: a}}", "spec: {storage: {storageClassName: b}}", "", ""},
	{"the storage class is put back", "spec: {storage: {storageClassName: b}}", "spec: {storage: {storageClassName: a}}", "", ""},
	{"the class of attributes changes", "spec: {storage: {volumeAttributesClassName: a}}", "spec: {storage: {volumeAttributesClassName: b}}", "", ""},
	{"the class of attributes is removed", "spec: {storage: {volumeAttributesClassName: a}}", "", "", ""},
	{"a storage class is added", "", "spec: {storage: {storageClassName: a}}", "", ""},
	{"the empty storage class is added", "spec: {storage: {}}", `spec: {storage: {storageClassName: ""}}`, "", ""},
	{"the storage class is removed", "spec: {storage: {storageClassName: a}}", "spec: {storage: {}}", "", ""},
	{"the storage class is removed with its section", "spec: {storage: {storageClassName: a}}", "", "", ""},
	{"the storage class becomes what is no name", "spec: {storage: {storageClassName: a}}", "spec: {storage: {storageClassName: B}}",
		"spec.storage.storageClassName", `spec.storage.storageClassName is "B"; it must be the name of a StorageClass`},
	{"a storage class is added to ephemeral data", "spec: {storage: {ephemeral: {}}}",
		"spec: {storage: {ephemeral: {}, storageClassName: a}}", "spec.storage.ephemeral", volumeFields},

	{"a volume for the write-ahead log is added", "", "spec: {storage: {wal: {size: 1Gi}}}", "", ""},
	{"it is taken away", "spec: {storage: {wal: {size: 1Gi}}}", "spec: {storage: {}}", "", ""},
	{"it becomes smaller, and of another class", "spec: {storage: {wal: {size: 2Gi}}}",
		"spec: {storage: {wal: {size: 1Gi, storageClassName: a}}}", "", ""},

	{"the access mode changes", "", "spec: {storage: {accessMode: ReadWriteOncePod}}", "", ""},
	{"the access mode is removed with its section", "spec: {storage: {accessMode: ReadWriteOncePod}}", "", "", ""},
	{"the default access mode is spelled out", "", "spec: {storage: {accessMode: ReadWriteOnce}}", "", ""},

	{"volumes become ephemeral", "", "spec: {storage: {ephemeral: {}}}", "", ""},
	{"ephemeral data becomes volumes", "spec: {storage: {ephemeral: {}}}", "spec: {storage: {}}", "", ""},
	{"ephemeral data becomes volumes by removing the section", "spec: {storage: {ephemeral: {}}}", "", "", ""},
	{"the medium changes", "spec: {storage: {ephemeral: {}}}", "spec: {storage: {ephemeral: {medium: Memory}}}", "", ""},
	{"the medium is removed", "spec: {storage: {ephemeral: {medium: Memory}}}", "spec: {storage: {ephemeral: {}}}", "", ""},
	{"the default medium is spelled out", "spec: {storage: {ephemeral: {}}}", `spec: {storage: {ephemeral: {medium: ""}}}`, "", ""},

	{"the load balancer's class changes", "spec: {service: {type: LoadBalancer, loadBalancerClass: a}}",
		"spec: {service: {type: LoadBalancer, loadBalancerClass: b}}", "spec.service.loadBalancerClass", noOtherBalancer},
	{"a class is added to a load balancer", "spec: {service: {type: LoadBalancer}}",
		"spec: {service: {type: LoadBalancer, loadBalancerClass: b}}", "spec.service.loadBalancerClass", noOtherBalancer},
	{"a Service becomes a load balancer with a class", "spec: {service: {}}", "spec: {service: {type: LoadBalancer, loadBalancerClass: b}}", "", ""},
	{"a load balancer with a class goes", "spec: {service: {type: LoadBalancer, loadBalancerClass: b}}", "", "", ""},

	{"a cluster without TLS is opened to nodes", withoutTLS(""), withoutTLS("type: NodePort"), "spec.service", exposed("NodePort")},
	{"a cluster without TLS is opened to a load balancer", withoutTLS(""), withoutTLS("type: LoadBalancer"), "spec.service", exposed("LoadBalancer")},
	{"a cluster without TLS is opened to more than known networks", withoutTLS(knownNetwork), withoutTLS("type: LoadBalancer"), "spec.service", exposed("LoadBalancer")},
	{"one that was closed is opened again", withoutTLS(knownNetwork), withoutTLS("type: NodePort"), "spec.service", exposed("NodePort")},

	{"the networks of clients change", "spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24]}}",
		"spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [198.51.100.0/24], externalTrafficPolicy: Local}}", "", ""},
	{"the networks of clients leave the spec", "spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24], externalTrafficPolicy: Local}}",
		"spec: {service: {type: LoadBalancer}}", "", ""},
	{"a load balancer with networks goes", "spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24], externalTrafficPolicy: Local}}", "", "", ""},
	{"a profile of AppArmor is turned off", annotated("runtime/default"), annotated("unconfined"), "spec.pod.annotations", "spec.pod.annotations" + loosened},

	{"families of addresses change, which Kubernetes decides about", "spec: {service: {ipFamilies: [IPv4]}}",
		"spec: {service: {ipFamilies: [IPv6, IPv4], ipFamilyPolicy: RequireDualStack}}", "", ""},
	{"families of addresses are put back", "spec: {service: {ipFamilies: [IPv6, IPv4], ipFamilyPolicy: RequireDualStack}}",
		"spec: {service: {ipFamilies: [IPv4]}}", "", ""},
	{"families of addresses leave the spec", "spec: {service: {ipFamilies: [IPv6], ipFamilyPolicy: SingleStack}}", "", "", ""},
	{"families of addresses become too many", "spec: {service: {ipFamilies: [IPv6], ipFamilyPolicy: SingleStack}}",
		"spec: {service: {ipFamilies: [IPv6, IPv4], ipFamilyPolicy: SingleStack}}", "spec.service.ipFamilies",
		"spec.service.ipFamilies names two families while spec.service.ipFamilyPolicy is SingleStack"},

	{"the size changes", "", "spec: {size: 5}", "", ""},
	{"the version changes", "", `spec: {version: "3.7.3"}`, "", ""},
	{"the image changes", "", "spec: {image: {repository: mirror/etcd}}", "", ""},
	{"the volume grows", "", "spec: {storage: {size: 16Gi}}", "", ""},
	{"the volume shrinks, which the operator reports", "spec: {storage: {size: 16Gi}}", "spec: {storage: {size: 8Gi}}", "", ""},
	{"the deletion policy changes", "", "spec: {storage: {deletionPolicy: Delete}}", "", ""},
	{"etcd's settings change", "", "spec: {etcd: {quotaBackendBytes: 1Gi}}", "", ""},
	{"the quota is raised above what etcd advises", "spec: {storage: {size: 65Gi}}",
		"spec: {storage: {size: 65Gi}, etcd: {quotaBackendBytes: 32Gi}}", "", ""},
	{"the quota is raised above the largest one", "spec: {storage: {size: 100Gi}}",
		"spec: {storage: {size: 100Gi}, etcd: {quotaBackendBytes: 33Gi}}", "spec.etcd.quotaBackendBytes",
		"spec.etcd.quotaBackendBytes is 33Gi; it must be from 16Mi to 32Gi"},
	{"a quota above what etcd advises is put back", "spec: {storage: {size: 65Gi}, etcd: {quotaBackendBytes: 32Gi}}",
		"spec: {storage: {size: 65Gi}, etcd: {quotaBackendBytes: 8Gi}}", "", ""},
	{"the user changes, and the group with it", ids("runAsUser: 1000"), ids("runAsUser: 1001"), "", ""},
	{"the user and both groups change", ids("runAsUser: 1000, fsGroup: 5"), ids("runAsUser: 1001, fsGroup: 6"), "", ""},
	{"the user changes, and the group stays", ids("runAsUser: 1000, fsGroup: 5"), ids("runAsUser: 1001, fsGroup: 5"), "spec.pod", noOtherUser},
	{"the user changes to what the group was", ids("fsGroup: 1001"), ids("runAsUser: 1001"), "spec.pod", noOtherUser},
	{"a user is added that has the group of the default one", "", ids("runAsUser: 1000, fsGroup: 65532"), "spec.pod", noOtherUser},
	{"the user is removed with its section, and the group stays", ids("runAsUser: 1000, fsGroup: 65532"), "", "spec.pod", noOtherUser},
	{"the user changes, and files get the group anew", ids("runAsUser: 1000, fsGroup: 5"),
		ids("runAsUser: 1001, fsGroup: 5, fsGroupChangePolicy: Always"), "", ""},
	{"the user of ephemeral data changes", "spec: {storage: {ephemeral: {}}, pod: {securityContext: {fsGroup: 5}}}",
		"spec: {storage: {ephemeral: {}}, pod: {securityContext: {runAsUser: 1001, fsGroup: 5}}}", "", ""},
	{"a user is added", "", ids("runAsUser: 1000"), "", ""},
	{"the user is put back", ids("runAsUser: 1000"), "", "", ""},
	{"the user becomes root", ids("runAsUser: 1000"), ids("runAsUser: 0"), "spec.pod.securityContext.runAsUser",
		"spec.pod.securityContext.runAsUser is 0" + noRoot},
	{"further groups change", "", ids("supplementalGroups: [5]"), "", ""},
	{"the Pod changes", "", "spec: {pod: {nodeSelector: {pool: etcd}}}", "", ""},
	{"the time until a replacement changes", "", "spec: {repair: {replaceAfter: 10m}}", "", ""},
	{"the age of backups is taken back", "spec: {backups: {maxAge: 1h}}", "", "", ""},
	{"the time until a replacement is taken back", "spec: {repair: {replaceAfter: 10m}}", "", "", ""},
	{"the cluster is paused", "", "spec: {paused: true, mode: DryRun}", "", ""},
}
