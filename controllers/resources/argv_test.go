package resources

import (
	"math/rand/v2"
	"net"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// nasty are pieces of what somebody may write into a string.
var nasty = []string{
	"--force-new-cluster", "--data-dir=/", "=", "$(STEWARD_INITIAL_CLUSTER)", "$", "$$", "$(", ")", " ", "../../etc", "/etc/passwd",
	"'", `"`, "`", ";", "|", "&&", "new", "-", "--", ",", "é", "{}", "name", "256",
}

// flagNames are names that somebody may give to further flags: good ones, owned ones, and such as are none.
var flagNames = []string{
	"max-txn-ops", "log-level", "feature-gates", "experimental-compact-hash-check-time", "data-dir", "initial-cluster", "listen-metrics-urls",
	"force-new-cluster", "name", "cert-file", "peer-cert-file", "quota-backend-bytes", "unsafe-no-fsync", "config-file", "snapshot-count",
	"initial-cluster-state", "auto-compaction-mode", "wal-dir", "client-cert-auth", "experimental-initial-corrupt-check",
}

func pick(random *rand.Rand, from []string, atMost int) string {
	var b strings.Builder
	for range random.IntN(atMost) + 1 {
		b.WriteString(from[random.IntN(len(from))])
	}
	return b.String()
}

func hostile(random *rand.Rand) *v1alpha1.EtcdCluster {
	return cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Version = []string{"3.5.35", "3.6.16", "3.7.3"}[random.IntN(3)]
		c.Spec.Etcd = &v1alpha1.EtcdSpec{
			AutoCompaction: &v1alpha1.AutoCompactionSpec{Mode: pick(random, nasty, 3), Retention: pick(random, nasty, 3)},
			ExtraArgs:      map[string]v1alpha1.ArgValue{},
		}
		for range random.IntN(6) {
			c.Spec.Etcd.ExtraArgs[pick(random, flagNames, 1)] = v1alpha1.ArgValue(pick(random, nasty, 4))
		}
		c.Spec.Image = &v1alpha1.ImageSpec{Repository: pick(random, nasty, 3)}
	})
}

func TestNoStringOfTheUsersBecomesAFlagThatIsOurs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		c := hostile(random)
		args := mustPod(t, c, atBootstrap(c)).Spec.Containers[0].Args
		ours := buildArgs(cluster(), atBootstrap(cluster()), etcdutil.Version{Major: 3, Minor: 6, Patch: 16})
		seen := map[string]bool{}
		for i, arg := range args {
			name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if !strings.HasPrefix(arg, "--") || !ok || strings.ContainsAny(name, " $/") {
				t.Fatalf("argument %d is %q, not one flag with its value", i, arg)
			}
			if seen[name] {
				t.Fatalf("flag %s is there twice: %q", name, args)
			}
			seen[name] = true
			isOurs := slices.Contains(ours, arg) || slices.Contains([]string{"auto-compaction-mode", "auto-compaction-retention"}, name)
			if etcdutil.OwnedFlag(name) && !isOurs && !strings.HasPrefix(name, "experimental-") {
				t.Fatalf("flag %s has the value %q, which is not ours", name, value)
			}
		}
	}
}

func TestKubernetesExpandsNothingOfTheUsers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		c := hostile(random)
		in := Inputs(c)
		pod := mustPod(t, c, atBootstrap(c))
		variables := map[string]string{stateVariable: "new", clusterVariable: "list", compareVariable: "true", "HOME": "/"}
		for _, arg := range pod.Spec.Containers[0].Args {
			name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			want, isUsers := in.Etcd.ExtraArgs[name]
			isUsers = isUsers && name != "feature-gates" && !etcdutil.OwnedFlag(name)
			if got := expand(value, variables); isUsers && got != want {
				t.Fatalf("flag %s of %q reaches etcd as %q", name, want, got)
			}
		}
	}
}

// expand does as the kubelet does with $(NAME) and $$
// (kubernetes/kubernetes:third_party/forked/golang/expansion/expand.go).
func expand(value string, variables map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '$' || i+1 == len(value) {
			out.WriteByte(value[i])
			continue
		}
		switch end := strings.IndexByte(value[i:], ')'); {
		case value[i+1] == '$':
			out.WriteByte('$')
			i++
		case value[i+1] == '(' && end > 0:
			if known, ok := variables[value[i+2:i+end]]; ok {
				out.WriteString(known)
			} else {
				out.WriteString(value[i : i+end+1])
			}
			i += end
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

func TestTheDataDirectoryIsAnIdentityAndNeverTheRootOfAVolume(t *testing.T) {
	seen := map[string]bool{}
	for _, incarnation := range []string{"aaaaaaaa", "bbbbbbbb"} {
		for _, member := range []string{"demo-0", "demo-1"} {
			dir := DataDir(incarnation, member)
			if seen[dir] || path.Dir(path.Dir(dir)) != dataMount {
				t.Errorf("%s", dir)
			}
			seen[dir] = true
		}
	}
}

func TestAPodWithoutAVersionIsNotBuilt(t *testing.T) {
	c := cluster()
	start := atBootstrap(c)
	start.Inputs.Version = "latest"
	if pod, err := BuildPod(c, start); err == nil {
		t.Errorf("built %s", pod.Spec.Containers[0].Image)
	}
}

// etcdctl ends where a flag is given whose variable is set. Without a variable it asks 127.0.0.1:2379, which the
// certificate has to hold.
func TestEtcdctlInAMemberMayBeGivenEndpointsAndVerifiesItsOwn(t *testing.T) {
	var variables []string
	for _, variable := range buildEnv(true) {
		if strings.HasPrefix(variable.Name, "ETCDCTL_") {
			variables = append(variables, variable.Name)
		}
	}
	if want := []string{"ETCDCTL_CACERT", "ETCDCTL_CERT", "ETCDCTL_KEY"}; !slices.Equal(variables, want) {
		t.Errorf("a member has %v for etcdctl, want %v", variables, want)
	}
	leaf := MemberServerLeaf(cluster(), "demo-0", "")
	if !leaf.Client || !slices.ContainsFunc(leaf.IPs, net.IPv4(127, 0, 0, 1).Equal) {
		t.Errorf("etcdctl cannot connect to its own endpoint with the certificate %+v", leaf)
	}
}
