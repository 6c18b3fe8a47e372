package v1alpha1

import (
	"cmp"
	"net/netip"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Defaults of what a Pod is made from are set in code. A new default of the schema would appear in every stored object
// at once. Those below are also written in the rules of the schema, where a rule joins two fields.
const (
	// DefaultStorageSize is the size of a member's volume.
	DefaultStorageSize = "8Gi"
	// DefaultQuotaBackendBytes is the size of the database at which etcd stops accepting writes.
	DefaultQuotaBackendBytes = "2Gi"
	// DefaultReplaceAfter is how long a member must be dead before it is replaced.
	DefaultReplaceAfter = 5 * time.Minute
	// DefaultKeepVolumes is how long the volume of a replaced member is kept.
	DefaultKeepVolumes = 24 * time.Hour
	// DefaultBackupAge is how old a proven backup may be where no EtcdBackupSchedule promises one.
	DefaultBackupAge = 48 * time.Hour
	// DefaultIssuerKind and DefaultIssuerGroup are what an issuer is where the spec names it alone.
	DefaultIssuerKind  = "Issuer"
	DefaultIssuerGroup = "cert-manager.io"
	// ShortestBackupAge is the interval of the most frequent schedule.
	ShortestBackupAge = time.Minute
	// ShortestReplaceAfter is long enough for a Pod to be restarted and to replay its log.
	ShortestReplaceAfter = 30 * time.Second
)

// StorageSizeOrDefault is the size of a member's volume.
func (s *EtcdClusterSpec) StorageSizeOrDefault() resource.Quantity {
	if s.Storage == nil || s.Storage.Size == nil {
		return resource.MustParse(DefaultStorageSize)
	}
	return *s.Storage.Size
}

// QuotaOrDefault is the size of the database at which etcd stops accepting writes.
func (s *EtcdClusterSpec) QuotaOrDefault() resource.Quantity {
	if s.Etcd == nil || s.Etcd.QuotaBackendBytes == nil {
		return resource.MustParse(DefaultQuotaBackendBytes)
	}
	return *s.Etcd.QuotaBackendBytes
}

// TLSModeOrDefault says how connections are protected.
func (s *EtcdClusterSpec) TLSModeOrDefault() TLSMode {
	if s.TLS == nil {
		return TLSManaged
	}
	return cmp.Or(s.TLS.Mode, TLSManaged)
}

// IsTLS reports whether the cluster has certificates: clients connect with TLS, if not with TLS alone.
func (s *EtcdClusterSpec) IsTLS() bool { return s.TLSModeOrDefault() != TLSDisabled }

// sanName is a DNS name that a certificate may have, with the same text as in the rule of the schema. What ends with a
// number is none: it would be a mistyped IP address.
var sanName = regexp.MustCompile(
	`^([*][.])?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])*[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// IsSAN reports whether a certificate may name this: an IP address, or a DNS name of which the first label may be "*".
func IsSAN(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && !ip.Is4In6() || len(name) <= 253 && sanName.MatchString(name)
}

// ExtraSANs are the names that the spec adds to the certificates of members.
func (s *EtcdClusterSpec) ExtraSANs() []string {
	if s.TLS == nil {
		return nil
	}
	return s.TLS.ExtraSANs
}

// CASources say where the spec wants the CAs from, for clients and for peers; zero where the operator makes the CA.
func (s *EtcdClusterSpec) CASources() (clients, peers CASource) {
	if !s.IsTLS() || s.TLS == nil {
		return CASource{}, CASource{}
	}
	if s.TLS.ClientCA != nil {
		clients = *s.TLS.ClientCA
	}
	if s.TLS.PeerCA != nil {
		peers = *s.TLS.PeerCA
	}
	return clients, peers
}

// SecretName is the Secret that a CA comes from, or "".
func (s CASource) SecretName() string {
	if s.SecretRef == nil {
		return ""
	}
	return s.SecretRef.Name
}

// Issuer is the issuer that signs, with its defaults; zero where none does.
func (s CASource) Issuer() CAIssuerReference {
	if s.IssuerRef == nil {
		return CAIssuerReference{}
	}
	return CAIssuerReference{Name: s.IssuerRef.Name, Kind: cmp.Or(s.IssuerRef.Kind, DefaultIssuerKind),
		Group: cmp.Or(s.IssuerRef.Group, DefaultIssuerGroup)}
}

// String says in words where a CA comes from; "" where the operator makes it.
func (s CASource) String() string {
	if s.SecretRef != nil {
		return "Secret " + s.SecretRef.Name
	}
	return s.Issuer().String()
}

// String is the issuer in words; the group is named where it is not the usual one.
func (r CAIssuerReference) String() string {
	switch {
	case r.Name == "":
		return ""
	case r.Group == DefaultIssuerGroup:
		return r.Kind + " " + r.Name
	}
	return r.Kind + "." + r.Group + " " + r.Name
}

// IsEphemeral reports whether members keep their data in an emptyDir.
func (s *EtcdClusterSpec) IsEphemeral() bool {
	return s.Storage != nil && s.Storage.Ephemeral != nil
}

// IsDryRun reports whether the next step is published and not taken.
func (s *EtcdClusterSpec) IsDryRun() bool {
	return s.Mode == ModeDryRun
}

// DeletionPolicyOrDefault says what happens to the data when the cluster is deleted. Without volumes there is no data
// to keep, and kept CAs would only block the next cluster of that name.
func (s *EtcdClusterSpec) DeletionPolicyOrDefault() DeletionPolicy {
	switch {
	case s.Storage != nil && s.Storage.DeletionPolicy != "":
		return s.Storage.DeletionPolicy
	case s.IsEphemeral():
		return DeletionDelete
	}
	return DeletionRetain
}

// ReplaceAfterOrDefault is how long a member must be dead before it is replaced; 0 is never. A refused value is not
// used: a typing error must not replace a member.
func (s *EtcdClusterSpec) ReplaceAfterOrDefault() time.Duration {
	if s.Repair == nil || s.Repair.ReplaceAfter == nil {
		return DefaultReplaceAfter
	}
	if after := s.Repair.ReplaceAfter.Duration; after == 0 || after >= ShortestReplaceAfter {
		return after
	}
	return DefaultReplaceAfter
}

// KeepVolumesOrDefault is how long the volume of a replaced member is kept; 0 is not at all. What is refused is not
// followed.
func (s *EtcdClusterSpec) KeepVolumesOrDefault() time.Duration {
	if s.Repair == nil || s.Repair.KeepVolumes == nil || s.Repair.KeepVolumes.Duration < 0 {
		return DefaultKeepVolumes
	}
	return s.Repair.KeepVolumes.Duration
}

// ExpectsBackups reports whether something should back the cluster up. What is kept in Pods is lost with them, and is
// not kept for long.
func (s *EtcdClusterSpec) ExpectsBackups() bool {
	isSaid := s.Backups != nil && s.Backups.Expected != nil
	return isSaid && *s.Backups.Expected || !isSaid && !s.IsEphemeral()
}

// NeedsNoBackups reports that the spec says so.
func (s *EtcdClusterSpec) NeedsNoBackups() bool {
	return s.Backups != nil && s.Backups.Expected != nil && !*s.Backups.Expected
}

// BackupAge is how old the newest proven backup may be; 0 is any age. What the spec does not say, isSaid is false for,
// and what is refused as well.
func (s *EtcdClusterSpec) BackupAge() (age time.Duration, isSaid bool) {
	if s.Backups == nil || s.Backups.MaxAge == nil {
		return 0, false
	}
	if age = s.Backups.MaxAge.Duration; age == 0 || age >= ShortestBackupAge {
		return age, true
	}
	return 0, false
}

// HasBudget reports whether the operator keeps a PodDisruptionBudget.
func (s *EtcdClusterSpec) HasBudget() bool {
	return s.Disruption == nil || s.Disruption.PodDisruptionBudget != BudgetNone
}

// CompactsOnNoSpace reports whether history is compacted where the database reached its quota.
func (s *EtcdClusterSpec) CompactsOnNoSpace() bool {
	return s.Maintenance == nil || s.Maintenance.CompactOnNoSpace == nil || *s.Maintenance.CompactOnNoSpace
}

// ExpandsByMove reports whether members move to new volumes for a larger size.
func (s *EtcdClusterSpec) ExpandsByMove() bool {
	return s.Storage != nil && s.Storage.Expand == ExpandReplace
}

// QuotaLimit is how far the operator may raise the quota; zero where it may not.
func (s *EtcdClusterSpec) QuotaLimit() resource.Quantity {
	if s.Maintenance == nil || s.Maintenance.AutoGrow == nil {
		return resource.Quantity{}
	}
	return s.Maintenance.AutoGrow.Limit
}

// KeepHistoryOrDefault is how much of the history stays then.
func (s *EtcdClusterSpec) KeepHistoryOrDefault() time.Duration {
	const usual, longest = 5 * time.Minute, time.Hour
	if s.Maintenance == nil || s.Maintenance.KeepHistory == nil {
		return usual
	}
	if keep := s.Maintenance.KeepHistory.Duration; keep >= 0 && keep <= longest {
		return keep
	}
	return usual
}
