package admission

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// validateSidecars looks at amounts, and at what sidecars share with each other and with their cluster.
func validateSidecars(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if spec.Pod == nil {
		return nil
	}
	var errs field.ErrorList
	ports := map[string]bool{}
	for i, sidecar := range spec.Pod.Sidecars {
		at := at.Index(i)
		errs = append(errs, validateResources(sidecar.Resources, at.Child("resources"))...)
		for j, port := range sidecar.Ports {
			errs = append(errs, validateSidecarPort(port, ports, at.Child("ports").Index(j))...)
		}
		for j, mount := range sidecar.Mounts {
			errs = append(errs, validateSidecarMount(mount, spec.IsTLS(), at.Child("mounts").Index(j))...)
		}
	}
	return errs
}

func validateSidecarPort(p v1alpha1.SidecarPort, seen map[string]bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if why := validation.IsValidPortName(p.Name); p.Name != "" && len(why) > 0 {
		errs = invalid(at.Child("name"), p.Name, "it "+strings.TrimPrefix(why[0], "it "))
	}
	port := fmt.Sprintf("%d/%s", p.ContainerPort, cmp.Or(p.Protocol, corev1.ProtocolTCP))
	if seen[port] {
		errs = append(errs, field.Invalid(at, port, fmt.Sprintf("%s is %s, as an earlier one; containers of a Pod "+
			"share its ports", at, port)))
	}
	seen[port] = true
	return errs
}

func validateSidecarMount(m v1alpha1.SidecarMount, isTLS bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if certificate := at.Child("clientCertificate"); m.ClientCertificate != nil && !isTLS {
		errs = append(errs, field.Forbidden(certificate, certificate.String()+" is set while spec.tls.mode is "+
			"Disabled: there is no certificate; take the mount away"))
	}
	if m.EmptyDir == nil || m.EmptyDir.SizeLimit == "" {
		return errs
	}
	if limit, err := m.EmptyDir.SizeLimit.Quantity(); err != nil || limit.Sign() < 0 {
		errs = append(errs, invalid(at.Child("emptyDir", "sizeLimit"), string(m.EmptyDir.SizeLimit),
			"it must be a quantity that is not negative, such as 64Mi")...)
	}
	return errs
}
