package resources

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	dataMount = "/var/lib/etcd"
	tlsMount  = "/etc/etcd/tls"

	// The variables are named unlike etcd's own: a flag and a variable of the same setting would stop it.
	stateVariable   = "STEWARD_INITIAL_STATE"
	clusterVariable = "STEWARD_INITIAL_CLUSTER"
	compareVariable = "STEWARD_INITIAL_COMPARE"
)

// DataDir is where a member's data lies. It names whose data it is, so that a foreign or older volume looks empty.
func DataDir(incarnation, member string) string { return path.Join(dataMount, incarnation, member) }

// buildArgs are etcd's arguments. Each is one flag with its value, so that no value is ever read as a flag.
//
// What decides how an empty directory is treated comes from the Pod's annotations, as arguments: an annotation that is
// missing gives an empty value, with which etcd stops; as mere environment it would be ignored.
func buildArgs(c *v1alpha1.EtcdCluster, s PodStart, version etcdutil.Version) []string {
	isTLS := s.Inputs.TLS == ""
	args := []string{
		"--name=" + s.Name,
		"--data-dir=" + DataDir(s.Incarnation, s.Name),
		"--initial-cluster-state=$(" + stateVariable + ")",
		"--initial-cluster=$(" + clusterVariable + ")",
		"--initial-cluster-token=" + s.Token,
		"--initial-advertise-peer-urls=" + etcdutil.PeerURL(scheme(isTLS), s.Name, c.Name, c.Namespace),
		"--advertise-client-urls=" + etcdutil.ClientURL(scheme(isTLS), s.Name, c.Name, c.Namespace),
		"--listen-peer-urls=" + anyAddress(scheme(isTLS), etcdutil.PeerPort),
		"--listen-client-urls=" + anyAddress(scheme(isTLS), etcdutil.ClientPort),
		"--listen-metrics-urls=" + anyAddress(etcdutil.SchemeHTTP, etcdutil.MetricsPort),
	}
	if isTLS {
		args = append(args, tlsArgs(version)...)
	}
	args = append(args, settingArgs(s.Inputs.Etcd)...)
	return append(args, optionArgs(version, s.Inputs.Etcd)...)
}

// anyAddress is every address of a Pod, of IPv4 and of IPv6, also on a node without either. etcd guesses names of its
// own for 0.0.0.0.
func anyAddress(scheme string, port int) string { return fmt.Sprintf("%s://[::]:%d", scheme, port) }

// tlsArgs name files below the mounted Secret. etcd reads certificates and keys again at each handshake, and the
// kubelet renews what is mounted as a directory.
//
// Peers ask for a certificate of the peers' authority, which signs members of this cluster only, and do not ask DNS for
// the address it comes from: a learner's name is published after it dialled, and etcd asks its peers only once.
func tlsArgs(version etcdutil.Version) []string {
	file := func(key string) string { return path.Join(tlsMount, key) }
	return []string{
		"--cert-file=" + file(KeyCert),
		"--key-file=" + file(KeyKey),
		"--trusted-ca-file=" + file(KeyCA),
		"--client-cert-auth=true",
		"--peer-cert-file=" + file(KeyPeerCert),
		"--peer-key-file=" + file(KeyPeerKey),
		"--peer-trusted-ca-file=" + file(KeyPeerCA),
		"--peer-client-cert-auth=true",
		"--" + skipPeerSAN(version) + "=true",
	}
}

// skipPeerSAN is the flag by its name in that minor: 3.5 knows it as an experiment, 3.7 no longer does.
func skipPeerSAN(version etcdutil.Version) string {
	const name = "peer-skip-client-san-verification"
	if !etcdutil.KnownFlag(version, name) {
		return "experimental-" + name
	}
	return name
}

// settingArgs are the settings that have a field of their own. What has no default of ours is left to etcd when absent.
func settingArgs(in *EtcdInputs) []string {
	if in == nil {
		in = &EtcdInputs{}
	}
	args := []string{
		"--quota-backend-bytes=" + strconv.FormatInt(in.quotaBytes(), 10),
		"--auto-compaction-mode=" + literal(cmp.Or(in.CompactionMode, DefaultCompactionMode)),
		"--auto-compaction-retention=" + literal(cmp.Or(in.CompactionRetention, DefaultCompactionRetention)),
	}
	for _, setting := range []struct {
		flag  string
		value *int64
	}{
		{"--snapshot-count", in.SnapshotCount}, {"--heartbeat-interval", in.HeartbeatInterval},
		{"--election-timeout", in.ElectionTimeout},
	} {
		if setting.value != nil {
			args = append(args, setting.flag+"="+strconv.FormatInt(*setting.value, 10))
		}
	}
	return args
}

// optionArgs are corruption checks and the user's further flags. A flag that the operator owns is left out, although
// validation let it pass: it would override the one above.
func optionArgs(version etcdutil.Version, in *EtcdInputs) []string {
	atStart, extra := "$("+compareVariable+")", map[string]string{}
	if in != nil {
		if in.CorruptionChecks != nil && !*in.CorruptionChecks {
			atStart = ""
		}
		for name, value := range in.ExtraArgs {
			extra[literal(name)] = literal(value)
		}
	}
	maps.DeleteFunc(extra, func(name, _ string) bool { return etcdutil.OwnedFlag(name) })
	return etcdutil.OptionArgs(version, atStart, extra)
}

// literal keeps Kubernetes from reading $(…) in a user's value as a reference to a variable.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }
