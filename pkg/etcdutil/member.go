// Package etcdutil holds facts about etcd that need no I/O: identities, quorum arithmetic, the tiers of versions,
// the flags that each minor knows, the URLs members are reached by, and what the last words of a stopped etcd mean.
//
// Everything here is a plain value or a pure function, so that the planner may use it. The package imports the
// standard library only.
package etcdutil

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ID is the 64-bit identity of a member or of a cluster. Zero means "none" or "not known".
type ID uint64

// String prints the ID as etcd does in logs and as etcdctl does: lower-case hexadecimal without a prefix.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// ParseID reads what ID.String printed. It refuses an empty string, a sign, a prefix and anything past 64 bits.
func ParseID(s string) (ID, error) {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parsing etcd ID %q: want 1 to 16 hexadecimal digits: %w", s, err)
	}
	return ID(v), nil
}

// MarshalText is what String prints: numbers of 64 bits do not survive every JSON tool.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote of an ID that etcd gave, which is never zero.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	if err == nil && *id == 0 {
		return errors.New("an etcd ID is never zero")
	}
	return err
}

// Member is one entry of etcd's member list.
type Member struct {
	ID ID
	// empty until a member that was added at run time has started; members of a bootstrap carry theirs at once
	Name string

	PeerURLs   []string
	ClientURLs []string // empty until the member has started
	Learner    bool
}

// Started says whether the member's process has ever joined: it publishes its client URLs when it first serves. The
// name proves nothing, because the entries of a static bootstrap have names from the beginning; etcd's own checks go by
// the name and so count such members as started (etcd-io/etcd:server/etcdserver/api/membership/member.go IsStarted).
func (m Member) Started() bool { return len(m.ClientURLs) > 0 }

// MemberName is the name of the member, and of its Pod and its volume, at an ordinal of a cluster.
func MemberName(cluster string, ordinal int) string { return cluster + "-" + strconv.Itoa(ordinal) }

// Ordinal is the inverse of MemberName. It is false for a name that MemberName would not have made for this cluster.
func Ordinal(cluster, name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, cluster+"-")
	if !ok || digits == "" || len(digits) > 9 {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || MemberName(cluster, n) != name {
		return 0, false
	}
	return n, true
}

// CompareNames orders member names of one cluster by ordinal, so that demo-10 comes after demo-9. Names that are not
// of this cluster come last, in text order.
func CompareNames(cluster, a, b string) int {
	ordinalA, okA := Ordinal(cluster, a)
	ordinalB, okB := Ordinal(cluster, b)
	switch {
	case okA && okB:
		return cmp.Compare(ordinalA, ordinalB)
	case okA:
		return -1
	case okB:
		return 1
	}
	return strings.Compare(a, b)
}

// SortNames sorts member names of one cluster in place, by CompareNames.
func SortNames(cluster string, names []string) {
	slices.SortFunc(names, func(a, b string) int { return CompareNames(cluster, a, b) })
}

// Ports of a member's container. Metrics and probes are plain HTTP on a port of their own.
const (
	ClientPort  = 2379
	PeerPort    = 2380
	MetricsPort = 2381
)

// Schemes of member URLs.
const (
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// PeerHost is the DNS name of a member below the headless peer Service. It is the name in the member's certificate,
// and the TLS server name by which it is dialled whatever its address is.
func PeerHost(member, cluster, namespace string) string {
	return member + "." + cluster + "-peers." + namespace + ".svc"
}

// PeerURL is the URL that identifies a member to its peers. The operator chooses it before the member exists, so it
// joins an entry of the member list with a Pod and a volume, also while the entry has no name yet.
func PeerURL(scheme, member, cluster, namespace string) string {
	return memberURL(scheme, member, cluster, namespace, PeerPort)
}

// ClientURL is the client URL that a member advertises.
func ClientURL(scheme, member, cluster, namespace string) string {
	return memberURL(scheme, member, cluster, namespace, ClientPort)
}

func memberURL(scheme, member, cluster, namespace string, port int) string {
	return scheme + "://" + PeerHost(member, cluster, namespace) + ":" + strconv.Itoa(port)
}

// MemberFromPeerURL is the inverse of PeerURL, for either scheme. It is false for a URL of another cluster, another
// namespace, another port, or one that was not made by PeerURL; the name is of this cluster by its ordinal.
func MemberFromPeerURL(url, cluster, namespace string) (name string, ok bool) {
	scheme, rest, found := strings.Cut(url, "://")
	if !found || (scheme != SchemeHTTP && scheme != SchemeHTTPS) {
		return "", false
	}
	name, _, found = strings.Cut(rest, ".")
	if !found {
		return "", false
	}
	if _, ok := Ordinal(cluster, name); !ok || url != PeerURL(scheme, name, cluster, namespace) {
		return "", false
	}
	return name, true
}

// SchemeOf is the scheme of a URL; empty where it has none of etcd's.
func SchemeOf(url string) string {
	scheme, _, found := strings.Cut(url, "://")
	if !found || scheme != SchemeHTTP && scheme != SchemeHTTPS {
		return ""
	}
	return scheme
}

// NamedURL is one entry of --initial-cluster.
type NamedURL struct{ Name, URL string }

// InitialCluster is the value of --initial-cluster for the members, in the order given.
func InitialCluster(members []NamedURL) string {
	entries := make([]string, len(members))
	for i, m := range members {
		entries[i] = m.Name + "=" + m.URL
	}
	return strings.Join(entries, ",")
}

// SealedInitialCluster is the value of --initial-cluster of a sealed member: only itself. With --initial-cluster-state
// existing, an etcd with an empty directory finds no other peer to ask about the cluster and stops; one with data never
// reads it (etcd-io/etcd:server/etcdserver/bootstrap.go, cluster_util.go getRemotePeerURLs).
func SealedInitialCluster(member, peerURL string) string {
	return InitialCluster([]NamedURL{{Name: member, URL: peerURL}})
}

// Values of --initial-cluster-state.
const (
	StateNew      = "new"
	StateExisting = "existing"
)

// Alarms that etcd raises. They are part of its data: a backup brings them along, under the IDs of members that are
// gone.
const (
	AlarmNoSpace = "NOSPACE" // a member's database reached its quota: no key can be written
	AlarmCorrupt = "CORRUPT" // members hold different data: reads are answered, and nothing can be written
)

// Alarm is an alarm with the member that it was raised for; zero when etcd does not know which one it is.
type Alarm struct {
	Name   string
	Member ID
}

// alarmText is how Status words an alarm, the member's ID in decimal (etcd-io/etcd:api/etcdserverpb/rpc.proto
// AlarmMember; how many spaces are between the fields is up to the library that prints it).
var alarmText = regexp.MustCompile(`^(?:memberID:([0-9]+)\s+)?alarm:([A-Z]+)`)

// ParseAlarms reads the alarms among what a member's Status calls errors. Every member speaks of the alarms of all.
func ParseAlarms(errs []string) []Alarm {
	var found []Alarm
	for _, text := range errs {
		parts := alarmText.FindStringSubmatch(text)
		if parts == nil || parts[2] == "NONE" {
			continue
		}
		id, _ := strconv.ParseUint(parts[1], 10, 64) // none: etcd does not know whom to accuse
		found = append(found, Alarm{Name: parts[2], Member: ID(id)})
	}
	return found
}

// IsCalledCorrupt reports an alarm that may mean this member. Of one without a member any may be meant.
func IsCalledCorrupt(alarms []Alarm, member ID) bool {
	return slices.ContainsFunc(alarms, func(a Alarm) bool {
		return a.Name == AlarmCorrupt && (a.Member == 0 || a.Member == member)
	})
}

// Quorum is how many of so many voters must agree for anything to be committed. Learners are not voters. Without any
// voter there is nobody to agree, and the answer is 1: nothing satisfies it.
func Quorum(voters int) int { return max(voters, 0)/2 + 1 }
