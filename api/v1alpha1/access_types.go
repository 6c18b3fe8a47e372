package v1alpha1

// AccessSpec says whom beside its own namespace a cluster serves.
type AccessSpec struct {
	// Namespaces whose EtcdClients may name this cluster, at most 64. If one is taken
	// out, its EtcdClients lose their users in etcd. Those of the cluster's own
	// namespace need no entry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Namespaces []ClientNamespace `json:"namespaces,omitempty"`
}

// ClientNamespace is a namespace whose EtcdClients may use a cluster.
type ClientNamespace struct {
	// Name of the namespace. There is no entry for all.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="spec.access.namespaces must have the name of a namespace in each entry. There is none for all namespaces: name each",messageExpression="'spec.access.namespaces names \"' + self + '\"; it must be the name of a namespace. There is none for all namespaces: name each'"
	Name string `json:"name"`

	// Prefixes of keys that its EtcdClients may ask for, at most 16. Default: all keys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Prefixes []string `json:"prefixes,omitempty"`
}

// ClientNamespace is the entry of a namespace in spec.access; nil where it has none.
func (s *EtcdClusterSpec) ClientNamespace(name string) *ClientNamespace {
	if s.Access == nil {
		return nil
	}
	for i := range s.Access.Namespaces {
		if s.Access.Namespaces[i].Name == name {
			return &s.Access.Namespaces[i]
		}
	}
	return nil
}
