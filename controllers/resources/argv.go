package resources

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	args := []string{
		"--name=" + s.Name,
		"--data-dir=" + DataDir(s.Incarnation, s.Name),
		"--initial-cluster-state=$(" + stateVariable + ")",
		"--initial-cluster=$(" + clusterVariable + ")",
		"--initial-cluster-token=" + s.Token,
		"--initial-advertise-peer-urls=" + etcdutil.PeerURL(s.Inputs.TLS.PeerScheme(), s.Name, c.Name, c.Namespace),
		"--advertise-client-urls=" + etcdutil.ClientURL(s.Inputs.TLS.ClientScheme(), s.Name, c.Name, c.Namespace),
		listenPeers + anyAddress(etcdutil.PeerPort, s.Inputs.TLS.PeerScheme()),
		listenClients + anyAddress(etcdutil.ClientPort, s.Inputs.TLS.ClientSchemes()...),
		"--listen-metrics-urls=" + anyAddress(etcdutil.MetricsPort, etcdutil.SchemeHTTP),
	}
	if s.HasWAL {
		args = append(args, "--wal-dir="+WALDir(s.Incarnation, s.Name))
	}
	if s.Inputs.TLS.HasCertificates() {
		args = append(args, tlsArgs(version)...)
	}
	args = append(args, settingArgs(s.Inputs.Etcd)...)
	return append(args, optionArgs(version, s.Inputs.Etcd)...)
}

// anyAddress is every address of a Pod, of IPv4 and of IPv6, also on a node without either. etcd guesses names of its
// own for 0.0.0.0. With two schemes it takes connections of both on that port.
func anyAddress(port int, schemes ...string) string {
	urls := make([]string, 0, len(schemes))
	for _, scheme := range schemes {
		urls = append(urls, fmt.Sprintf("%s://[::]:%d", scheme, port))
	}
	return strings.Join(urls, ",")
}

// tlsArgs name files below the mounted Secret. etcd reads certificates and keys again at each handshake, and the
// kubelet renews what is mounted as a directory.
//
// Peers ask for a certificate of the peers' CA, which signs members of this cluster only, and do not ask DNS for
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

// StartFlags says with which membership flags the next container of a Pod starts. The values are those of facts.Flags.
type StartFlags string

// The kinds of flags. Only StartBootstrap and StartJoin can start from an empty directory. Pods of earlier releases
// start with those of StartComparing.
const (
	StartBootstrap StartFlags = "Birth"
	StartJoin      StartFlags = "Join"
	StartSealed    StartFlags = "Sealed"
	StartComparing StartFlags = "Comparing"
	StartNone      StartFlags = "None"
)

// Whether etcd compares a member's data with its peers' before it serves. Members that start together would wait for
// each other in vain, 7 s for each peer: none answers peers before it has asked all of them
// (etcd-io/etcd:server/embed/etcd.go). The operator compares their copies instead: docs/decisions/0031.
const (
	compares       = "true"
	doesNotCompare = "false"
)

// InitialAnnotations are what the Pod's --initial-cluster-state and --initial-cluster, and whether etcd compares its
// data first, are read from at each start of its container. For StartSealed the list given is not used: such a member
// knows only itself.
func InitialAnnotations(c *v1alpha1.EtcdCluster, member string, transport etcdutil.Transport, flags StartFlags,
	initial []etcdutil.NamedURL) map[string]string {
	state, list := etcdutil.StateExisting, etcdutil.InitialCluster(initial)
	if flags == StartBootstrap {
		state = etcdutil.StateNew
	}
	if flags == StartSealed {
		list = etcdutil.SealedInitialCluster(member, PeerURLOf(c, member, transport))
	}
	return map[string]string{
		v1alpha1.AnnotationInitialState: state, v1alpha1.AnnotationInitialCluster: list,
		v1alpha1.AnnotationInitialCompare: doesNotCompare,
	}
}

// FlagsOf says what a Pod's annotations would make its next container do. Everything that the operator did not write
// there is StartNone.
func FlagsOf(c *v1alpha1.EtcdCluster, member string, annotations map[string]string) StartFlags {
	state, list := annotations[v1alpha1.AnnotationInitialState], annotations[v1alpha1.AnnotationInitialCluster]
	withData := flagsWithData(annotations)
	own := ownEntry(c, member, list)
	hasOwn := strings.Contains(","+list+",", ","+own+",")
	switch {
	case withData == StartNone:
		return StartNone
	case state == etcdutil.StateExisting && list == own:
		return withData
	case state == etcdutil.StateExisting && hasOwn:
		return StartJoin
	case state == etcdutil.StateNew && hasOwn:
		return StartBootstrap
	}
	return StartNone
}

// flagsWithData says what a Pod that starts from its data would do with it. Pods of the first renderer, which are not
// asked, always compare.
func flagsWithData(annotations map[string]string) StartFlags {
	switch compare, isSaid := annotations[v1alpha1.AnnotationInitialCompare]; {
	case compare == compares, !isSaid && annotations[v1alpha1.AnnotationRenderer] == "1":
		return StartComparing
	case compare == doesNotCompare:
		return StartSealed
	}
	return StartNone
}

// Probes use the plain listener: the kubelet has no client certificate. A probe cannot be changed in a running Pod, so
// each must fit a learner as well as a voter.

// startupProbe holds the others back for up to half an hour: a member may replay a long log, or receive gigabytes,
// first. Nothing it asks needs a quorum, which at bootstrap is not there yet. It looks often, since readiness waits for
// it.
func startupProbe() *corev1.Probe {
	return probe("/livez", 1, 10, 1800)
}

// livenessProbe restarts a process that hangs, and only that. Defragmentation blocks even /livez (etcd-io/etcd#16858):
// two minutes are enough for most databases, and a larger quota gets what it takes on a slow disk, 10 MiB a second.
func livenessProbe(quotaBytes int64) *corev1.Probe {
	const period, slowDisk = 10, 10 << 20
	return probe("/livez", period, period, int32(max(12, quotaBytes/slowDisk/period+1)))
}

// readinessProbe reads linearizably. It is what the disruption budget counts by, so it is asked often enough for a
// drain or a repair not to wait for it. A learner is to become ready too, hence the exclusion.
func readinessProbe() *corev1.Probe {
	return probe("/readyz?exclude=non_learner", 2, 3, 3)
}

// probe takes period and timeout in seconds.
func probe(path string, period, timeout, threshold int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString(metricsPortName), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: period, TimeoutSeconds: timeout, SuccessThreshold: 1, FailureThreshold: threshold,
	}
}

// leaveSeconds is how long etcd serves on after its Pod is told to stop. kube-proxy changes its rules at most once a
// second (kubernetes/kubernetes:pkg/proxy/apis/config/v1alpha1/defaults.go, MinSyncPeriod); the rest is for the news to
// reach it. It counts within the grace period, of which the least that a spec may ask for, 30 s, leaves enough to hand
// over leadership and stop.
const leaveSeconds = 2

// leaveFirst lets a member leave the Service before it stops, in every case. Otherwise a client that etcd turns away
// may be led back to the same Pod, is refused there, and waits a second. The kubelet itself sleeps: no program runs in
// the container.
func leaveFirst() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: leaveSeconds}}}
}
