package resources

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// ownUser is the user of distroless images, and the group. It is a number, since the kubelet cannot tell whether a name
// is root.
const ownUser int64 = 65532

// podSecurity passes Pod Security "restricted". The group owns what is mounted. It follows the user, so that another
// user has another group: by that the kubelet sees that it has to give the group what the user before wrote for itself
// alone, as etcd does (etcd-io/etcd:client/pkg/fileutil, kubernetes/kubernetes:pkg/volume/volume_linux.go). A platform
// that hands out IDs has a range for each namespace, and refuses others: there what the spec does not name stays open.
func podSecurity(asked *v1alpha1.PodSecurityContext, platformIDs bool) *corev1.PodSecurityContext {
	if asked == nil {
		asked = &v1alpha1.PodSecurityContext{}
	}
	asked = asked.DeepCopy()
	out := &corev1.PodSecurityContext{
		RunAsNonRoot:        new(true),
		RunAsUser:           asked.RunAsUser,
		RunAsGroup:          asked.RunAsGroup,
		FSGroup:             asked.FSGroup,
		FSGroupChangePolicy: new(cmp.Or(asked.FSGroupChangePolicy, DefaultGroupChange)),
		SupplementalGroups:  asked.SupplementalGroups,
		SELinuxOptions:      asked.SELinuxOptions,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !platformIDs {
		out.RunAsUser = cmp.Or(out.RunAsUser, new(ownUser))
		out.RunAsGroup = cmp.Or(out.RunAsGroup, new(*out.RunAsUser))
		out.FSGroup = cmp.Or(out.FSGroup, new(*out.RunAsUser))
	}
	return out
}

// securityOf is what the spec says of the user and the groups of the cluster's Pods.
func securityOf(in *PodInputs) *v1alpha1.PodSecurityContext {
	if in == nil {
		return nil
	}
	return in.SecurityContext
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
