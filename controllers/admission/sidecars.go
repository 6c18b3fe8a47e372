package admission

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	mostSidecars      = 4
	longestSidecar    = 40
	restrictedSecures = ": sidecars are held to Pod Security restricted"
)

var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	imageName = regexp.MustCompile(`^[^ \t\n]+$`)
	directory = regexp.MustCompile(`^/[^:]+$`)

	ofThePod = []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
)

// validateSidecars looks at each sidecar, and at what they share: names, and the ports of their Pod.
func validateSidecars(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if spec.Pod == nil {
		return nil
	}
	var errs field.ErrorList
	if n := len(spec.Pod.Sidecars); n > mostSidecars {
		errs = append(errs, field.TooMany(at, n, mostSidecars))
		errs[0].Detail = fmt.Sprintf("%s has %d items; it must have at most %d", at, n, mostSidecars)
	}
	names, ports := map[string]bool{}, map[string]bool{}
	for i, sidecar := range spec.Pod.Sidecars {
		at := at.Index(i)
		errs = append(errs, once(names, sidecar.Name, "name", at)...)
		errs = append(errs, validateSidecar(sidecar, at)...)
		errs = append(errs, validateSidecarMounts(sidecar.Mounts, spec.IsTLS(), at.Child("mounts"))...)
		for j, port := range sidecar.Ports {
			errs = append(errs, validateSidecarPort(port, ports, at.Child("ports").Index(j))...)
		}
	}
	return errs
}

// once refuses a value that an earlier item of the list has.
func once(seen map[string]bool, value, what string, at *field.Path) field.ErrorList {
	if !seen[value] {
		seen[value] = true
		return nil
	}
	return field.ErrorList{field.Invalid(at, value,
		fmt.Sprintf("%s has the %s %q, as an earlier one; give each its own", at, what, value))}
}

// general is the field as the schema names it in its sentences: without the number of the item.
func general(at *field.Path) string {
	return regexp.MustCompile(`\[\d+\]`).ReplaceAllString(at.String(), "")
}

func says(at *field.Path, value any, sentence string) field.ErrorList {
	return field.ErrorList{field.Invalid(at, value, sentence)}
}

// generally says "<field> is <value>; <what>", as the schema does.
func generally(at *field.Path, value any, what string) field.ErrorList {
	shown := fmt.Sprint(value)
	if text, ok := value.(string); ok {
		shown = `"` + text + `"`
	}
	return says(at, value, general(at)+" is "+shown+"; "+what)
}

func validateSidecar(s v1alpha1.Sidecar, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch name := at.Child("name"); {
	case len(s.Name) > longestSidecar:
		errs = append(errs, generally(name, s.Name, "it must be at most 40 characters")...)
	case s.Name == "etcd" || !label.MatchString(s.Name):
		errs = append(errs, generally(name, s.Name, `it must be lower-case letters, digits and "-", and not etcd, `+
			"which is the container of the member")...)
	}
	if !imageName.MatchString(s.Image) {
		errs = append(errs, generally(at.Child("image"), s.Image,
			"it must be the name of an image, without spaces")...)
	}
	errs = append(errs, oneOf(at.Child("imagePullPolicy"), s.ImagePullPolicy, corev1.PullAlways,
		corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, validateResources(s.Resources, at.Child("resources"))...)
	errs = append(errs, validateSidecarEnv(s.Env, at.Child("env"))...)
	errs = append(errs, validateProbe(s.ReadinessProbe, at.Child("readinessProbe"))...)
	errs = append(errs, validateProbe(s.LivenessProbe, at.Child("livenessProbe"))...)
	if probe := at.Child("startupProbe"); s.StartupProbe != nil {
		errs = append(errs, field.Forbidden(probe, general(probe)+" is not supported: etcd would wait for it; use a "+
			"livenessProbe with initialDelaySeconds"))
	}
	if mounts := at.Child("volumeMounts"); len(s.VolumeMounts) > 0 {
		errs = append(errs, field.Forbidden(mounts, general(mounts)+" is not supported: a sidecar mounts no volume of "+
			"the Pod, and never the data of etcd; use mounts"))
	}
	return append(errs, validateSidecarSecurity(s.SecurityContext, at.Child("securityContext"))...)
}

func validateSidecarEnv(env []v1alpha1.SidecarEnv, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, variable := range env {
		at := at.Index(i)
		errs = append(errs, once(names, variable.Name, "name", at)...)
		if len(validation.IsEnvVarName(variable.Name)) > 0 {
			errs = append(errs, generally(at.Child("name"), variable.Name, `it must be letters, digits, "_", "-" and `+
				`".", not starting with a digit`)...)
		}
		if variable.ValueFrom == nil {
			continue
		}
		if variable.Value != "" {
			errs = append(errs, says(at.Child("valueFrom"), variable.Name,
				general(at)+" must have value or valueFrom, not both")...)
		}
		errs = append(errs, validateSidecarSource(*variable.ValueFrom, at.Child("valueFrom"))...)
	}
	return errs
}

func validateSidecarSource(from v1alpha1.SidecarEnvSource, at *field.Path) field.ErrorList {
	if count(from.FieldRef != nil, from.SecretKeyRef != nil, from.ConfigMapKeyRef != nil) != 1 {
		return says(at, "", general(at)+" must have one of fieldRef, secretKeyRef and configMapKeyRef")
	}
	switch {
	case from.FieldRef != nil:
		return oneOf(at.Child("fieldRef", "fieldPath"), cmp.Or(from.FieldRef.FieldPath, `""`), ofThePod...)
	case from.SecretKeyRef != nil:
		return validateKeyRef(*from.SecretKeyRef, at.Child("secretKeyRef"))
	}
	return validateKeyRef(*from.ConfigMapKeyRef, at.Child("configMapKeyRef"))
}

func validateKeyRef(ref v1alpha1.SidecarKeyRef, at *field.Path) field.ErrorList {
	errs := validateObjectName(ref.Name, at.Child("name"))
	if len(validation.IsConfigMapKey(ref.Key)) > 0 {
		errs = append(errs, invalid(at.Child("key"), ref.Key, `it must be letters, digits, "-", "_" and "."`)...)
	}
	return errs
}

func validateObjectName(name string, at *field.Path) field.ErrorList {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return invalid(at, name, `it must be a name of lower-case letters, digits, "-" and "."`)
}

// count is how many are true.
func count(given ...bool) int {
	return len(slices.DeleteFunc(given, func(isGiven bool) bool { return !isGiven }))
}

func validateSidecarPort(p v1alpha1.SidecarPort, seen map[string]bool, at *field.Path) field.ErrorList {
	errs := oneOf(at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP)
	errs = append(errs, validateSidecarPortName(p.Name, at.Child("name"))...)
	ofEtcd := []int32{etcdutil.ClientPort, etcdutil.PeerPort, etcdutil.MetricsPort}
	if n := p.ContainerPort; n < 1 || n > 65535 || slices.Contains(ofEtcd, n) {
		errs = append(errs, generally(at.Child("containerPort"), n, "it must be from 1 to 65535, and not 2379, 2380 "+
			"or 2381, which are the ports of etcd")...)
	}
	port := fmt.Sprintf("%d/%s", p.ContainerPort, cmp.Or(p.Protocol, corev1.ProtocolTCP))
	if seen[port] {
		errs = append(errs, says(at, port, fmt.Sprintf("%s is %s, as an earlier one; containers of a Pod share its "+
			"ports", at, port))...)
	}
	seen[port] = true
	if hostPort := at.Child("hostPort"); p.HostPort != nil {
		errs = append(errs, field.Forbidden(hostPort, general(hostPort)+" is not supported: Pod Security restricted "+
			"does not allow it; use a Service"))
	}
	return errs
}

func validateSidecarPortName(name string, at *field.Path) field.ErrorList {
	switch {
	case name == "":
	case !label.MatchString(name) || slices.Contains([]string{"client", "peer", "metrics"}, name):
		return generally(at, name, `it must be lower-case letters, digits and "-", and not client, peer or metrics, `+
			"which are the names of the ports of etcd")
	default:
		if why := validation.IsValidPortName(name); len(why) > 0 {
			return invalid(at, name, "it "+strings.TrimPrefix(why[0], "it "))
		}
	}
	return nil
}

func validateProbe(p *v1alpha1.SidecarProbe, at *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if count(p.HTTPGet != nil, p.TCPSocket != nil, p.Exec != nil) != 1 {
		errs = append(errs, says(at, "", general(at)+" must have one of httpGet, tcpSocket and exec")...)
	}
	if p.HTTPGet != nil {
		errs = append(errs, within(at.Child("httpGet", "port"), p.HTTPGet.Port, 1, 65535)...)
		errs = append(errs, oneOf(at.Child("httpGet", "scheme"), p.HTTPGet.Scheme, corev1.URISchemeHTTP,
			corev1.URISchemeHTTPS)...)
	}
	if p.TCPSocket != nil {
		errs = append(errs, within(at.Child("tcpSocket", "port"), p.TCPSocket.Port, 1, 65535)...)
	}
	if p.Exec != nil && len(p.Exec.Command) == 0 {
		errs = append(errs, field.Required(at.Child("exec", "command"), at.String()+".exec.command must not be empty"))
	}
	errs = append(errs, within(at.Child("initialDelaySeconds"), p.InitialDelaySeconds, 0, 3600)...)
	errs = append(errs, within(at.Child("periodSeconds"), cmp.Or(p.PeriodSeconds, 1), 1, 3600)...)
	errs = append(errs, within(at.Child("timeoutSeconds"), cmp.Or(p.TimeoutSeconds, 1), 1, 3600)...)
	return append(errs, within(at.Child("failureThreshold"), cmp.Or(p.FailureThreshold, 1), 1, 1000)...)
}

func within(at *field.Path, n, least, most int32) field.ErrorList {
	if n >= least && n <= most {
		return nil
	}
	return invalid(at, n, fmt.Sprintf("it must be from %d to %d", least, most))
}

func validateSidecarMounts(mounts []v1alpha1.SidecarMount, isTLS bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := map[string]bool{}
	for i, mount := range mounts {
		at := at.Index(i)
		errs = append(errs, once(paths, mount.MountPath, "mountPath", at)...)
		errs = append(errs, validateSidecarMount(mount, at)...)
		if certificate := at.Child("clientCertificate"); mount.ClientCertificate != nil && !isTLS {
			errs = append(errs, field.Forbidden(certificate, certificate.String()+" is set while spec.tls.mode is "+
				"Disabled: there is no certificate; take the mount away"))
		}
	}
	return errs
}

func validateSidecarMount(m v1alpha1.SidecarMount, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !directory.MatchString(m.MountPath) {
		errs = append(errs, generally(at.Child("mountPath"), m.MountPath,
			`it must be an absolute path without ":", and not /`)...)
	}
	if count(m.EmptyDir != nil, m.ConfigMap != nil, m.Secret != nil, m.ClientCertificate != nil) != 1 {
		errs = append(errs, says(at, m.MountPath, general(at)+" must each have one of emptyDir, configMap, secret and "+
			"clientCertificate; no other volume is mounted, neither a hostPath nor the data of etcd")...)
	}
	if m.ConfigMap != nil {
		errs = append(errs, validateObjectName(m.ConfigMap.Name, at.Child("configMap", "name"))...)
	}
	if m.Secret != nil {
		errs = append(errs, validateObjectName(m.Secret.Name, at.Child("secret", "name"))...)
	}
	if m.EmptyDir == nil {
		return errs
	}
	errs = append(errs, oneOf(at.Child("emptyDir", "medium"), m.EmptyDir.Medium, corev1.StorageMediumMemory)...)
	if limit := m.EmptyDir.SizeLimit; limit != "" {
		if value, err := limit.Quantity(); err != nil || value.Sign() < 0 {
			errs = append(errs, invalid(at.Child("emptyDir", "sizeLimit"), string(limit),
				"it must be a quantity that is not negative, such as 64Mi")...)
		}
	}
	return errs
}

func validateSidecarSecurity(s *v1alpha1.SidecarSecurityContext, at *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	refuse := func(isRefused bool, name, must string) {
		if isRefused {
			at := at.Child(name)
			errs = append(errs, field.Forbidden(at, general(at)+must+restrictedSecures))
		}
	}
	refuse(s.Privileged != nil && *s.Privileged, "privileged", " must not be true")
	refuse(s.AllowPrivilegeEscalation != nil && *s.AllowPrivilegeEscalation, "allowPrivilegeEscalation",
		" must not be true")
	refuse(s.RunAsNonRoot != nil && !*s.RunAsNonRoot, "runAsNonRoot", " must not be false")
	refuse(s.Capabilities != nil && len(s.Capabilities.Add) > 0, "capabilities", ".add must be empty")
	if user := at.Child("runAsUser"); s.RunAsUser != nil && *s.RunAsUser < 1 {
		errs = append(errs, says(user, *s.RunAsUser, general(user)+" must be above 0"+restrictedSecures+
			", and 0 is root")...)
	}
	return errs
}
