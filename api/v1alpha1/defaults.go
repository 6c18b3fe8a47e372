package v1alpha1

// Defaults of what a Pod is made from live here and not in the schema: a new schema default would appear in every stored
// object at once.

// IsTLS reports whether connections are protected.
func (s *EtcdClusterSpec) IsTLS() bool {
	return s.TLS == nil || s.TLS.Mode != TLSDisabled
}

// IsEphemeral reports whether members keep their data in an emptyDir.
func (s *EtcdClusterSpec) IsEphemeral() bool {
	return s.Storage != nil && s.Storage.Ephemeral != nil
}

// IsDryRun reports whether the next step is published and not taken.
func (s *EtcdClusterSpec) IsDryRun() bool {
	return s.Mode == ModeDryRun
}

// DeletionPolicyOrDefault is what becomes of the data when the cluster is deleted.
func (s *EtcdClusterSpec) DeletionPolicyOrDefault() DeletionPolicy {
	if s.Storage == nil || s.Storage.DeletionPolicy == "" {
		return DeletionRetain
	}
	return s.Storage.DeletionPolicy
}

// HasBudget reports whether the operator keeps a PodDisruptionBudget.
func (s *EtcdClusterSpec) HasBudget() bool {
	return s.Disruption == nil || s.Disruption.PodDisruptionBudget != BudgetNone
}
