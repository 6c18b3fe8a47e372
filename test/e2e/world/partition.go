package world

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Partition is a packet filter in the networks of Pods. It is gone with them.
type Partition struct {
	table  string
	inside []*os.File // the networks; they can be entered even when the process they were found by has ended
	healed bool
}

// Directions of packets, as seen from the Pod whose network is filtered.
const (
	incoming = "input"
	outgoing = "output"
)

// partition drops the packets in one direction that any of these conditions of nft describes, in the networks of these
// processes. It ends with the story at the latest.
func (w *World) partition(ctx context.Context, inside []int, direction string, conditions ...string) *Partition {
	ginkgo.GinkgoHelper()
	p := &Partition{table: "inet story_" + rand.String(8)}
	ginkgo.DeferCleanup(func(ctx context.Context) {
		p.Heal(ctx)
		for _, network := range p.inside {
			_ = network.Close()
		}
	})
	commands := fmt.Sprintf("add table %[1]s\nadd chain %[1]s filter { type filter hook %[2]s priority 0; }\n", p.table, direction)
	for _, condition := range conditions {
		commands += fmt.Sprintf("add rule %s filter %s counter drop\n", p.table, condition)
	}
	for _, pid := range inside {
		network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		p.inside = append(p.inside, network)
		_, err = nft(ctx, network, commands)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
	return p
}

// Heal takes the filter away, once.
func (p *Partition) Heal(ctx context.Context) {
	ginkgo.GinkgoHelper()
	if p.healed {
		return
	}
	p.healed = true
	for _, network := range p.inside {
		_, err := nft(ctx, network, "delete table "+p.table)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

var packets = regexp.MustCompile(`counter packets (\d+)`)

// Dropped is how many packets it has dropped so far: the proof that there was anything to be dropped.
func (p *Partition) Dropped(ctx context.Context) (int, error) {
	dropped := 0
	for _, network := range p.inside {
		said, err := nft(ctx, network, "list table "+p.table)
		if err != nil {
			return 0, err
		}
		for _, match := range packets.FindAllStringSubmatch(said, -1) {
			n, err := strconv.Atoi(match[1])
			if err != nil {
				return 0, fmt.Errorf("counting dropped packets: %w", err)
			}
			dropped += n
		}
	}
	return dropped, nil
}

// nft gives the packet filter of a network these commands.
func nft(ctx context.Context, network *os.File, commands string) (string, error) {
	path := fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), network.Fd())
	command := exec.CommandContext(ctx, "nsenter", path, "nft", "-f", "-")
	command.Stdin = strings.NewReader(commands + "\n")
	said, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nft %q: %w: %s", commands, err, said)
	}
	return string(said), nil
}

// CutOneWay drops every packet that one member sends to another as a peer; those of the other direction arrive.
func (c *Cluster) CutOneWay(ctx context.Context, from, to string) *Partition {
	ginkgo.GinkgoHelper()
	source := "ip saddr " + c.address(ctx, from)
	return c.partition(ctx, []int{c.pid(ctx, to)}, incoming,
		fmt.Sprintf("%s tcp sport %d", source, etcdutil.PeerPort), fmt.Sprintf("%s tcp dport %d", source, etcdutil.PeerPort))
}

// CutSender drops every packet that a member sends, to its kubelet and to the operator as well; those to it arrive.
func (c *Cluster) CutSender(ctx context.Context, member string) *Partition {
	ginkgo.GinkgoHelper()
	return c.partition(ctx, []int{c.pid(ctx, member)}, outgoing, `oifname != "lo"`)
}

// SlowReceiver lets a member receive no more than so many KiB a second from its peers. Small packets pass, as with SlowPeers.
func (c *Cluster) SlowReceiver(ctx context.Context, member string, kib int) *Partition {
	ginkgo.GinkgoHelper()
	limit := fmt.Sprintf("meta length > 500 limit rate over %d kbytes/second burst 64 kbytes", kib)
	return c.partition(ctx, []int{c.pid(ctx, member)}, incoming,
		fmt.Sprintf("tcp dport %d %s", etcdutil.PeerPort, limit), fmt.Sprintf("tcp sport %d %s", etcdutil.PeerPort, limit))
}

// CutClients lets no client reach these members; their peers do, and the kubelet.
func (c *Cluster) CutClients(ctx context.Context, members ...string) *Partition {
	ginkgo.GinkgoHelper()
	var inside []int
	for _, member := range members {
		inside = append(inside, c.pid(ctx, member))
	}
	return c.partition(ctx, inside, incoming, fmt.Sprintf(`iifname != "lo" tcp dport %d`, etcdutil.ClientPort))
}

// CutProbes lets no probe of its kubelet reach a member, so that Kubernetes calls it not ready, and in the end stops it.
func (c *Cluster) CutProbes(ctx context.Context, member string) *Partition {
	ginkgo.GinkgoHelper()
	return c.partition(ctx, []int{c.pid(ctx, member)}, incoming, fmt.Sprintf("tcp dport %d", etcdutil.MetricsPort))
}

// CutFromOperator drops what the installed operator's Pods send to these members of this cluster, and to nobody else.
func (c *Cluster) CutFromOperator(ctx context.Context, members ...string) *Partition {
	ginkgo.GinkgoHelper()
	var addresses []string
	for _, member := range members {
		addresses = append(addresses, c.address(ctx, member))
	}
	operators, err := c.OperatorPods(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return c.partition(ctx, c.operatorPIDs(ctx, operators), outgoing, "ip daddr { "+strings.Join(addresses, ", ")+" }")
}

// CutFromKubernetes drops what these Pods of the operator send to the API server.
func (w *World) CutFromKubernetes(ctx context.Context, operators ...corev1.Pod) *Partition {
	ginkgo.GinkgoHelper()
	addresses, err := w.apiServers(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return w.partition(ctx, w.operatorPIDs(ctx, operators), outgoing, "ip daddr { "+strings.Join(addresses, ", ")+" }")
}

// CutOperator drops every packet that a Pod of the operator sends; those to it arrive.
func (w *World) CutOperator(ctx context.Context, pod corev1.Pod) *Partition {
	ginkgo.GinkgoHelper()
	return w.partition(ctx, w.operatorPIDs(ctx, []corev1.Pod{pod}), outgoing, `oifname != "lo"`)
}

// FreezeOperator stops the process of a Pod of the operator, which stays where it is. It goes on after the story at the
// latest, if it is still there.
func (w *World) FreezeOperator(ctx context.Context, pod corev1.Pod) (thaw func(context.Context)) {
	ginkgo.GinkgoHelper()
	pid := w.operatorPIDs(ctx, []corev1.Pod{pod})[0]
	thaw = func(context.Context) { _ = syscall.Kill(pid, syscall.SIGCONT) }
	ginkgo.DeferCleanup(thaw)
	gomega.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(gomega.Succeed())
	return thaw
}

// KillOperators ends the processes of these Pods of the operator as the kernel would.
func (w *World) KillOperators(ctx context.Context, pods []corev1.Pod) {
	ginkgo.GinkgoHelper()
	for _, pid := range w.operatorPIDs(ctx, pods) {
		gomega.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(gomega.Succeed())
	}
}

// apiServers are the addresses of the Service that Pods reach the API server by, and of what is behind it.
func (w *World) apiServers(ctx context.Context) ([]string, error) {
	service := &corev1.Service{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, service); err != nil {
		return nil, fmt.Errorf("reading the Service of the API server: %w", err)
	}
	slices := &discoveryv1.EndpointSliceList{}
	err := w.Client.List(ctx, slices, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"})
	if err != nil {
		return nil, fmt.Errorf("reading the addresses of the API server: %w", err)
	}
	addresses := []string{service.Spec.ClusterIP}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
	}
	return addresses, nil
}

// OperatorPods are the installed operator's Pods that run.
func (w *World) OperatorPods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := w.Client.List(ctx, list, client.InNamespace(OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	if err != nil {
		return nil, fmt.Errorf("listing the operator's Pods: %w", err)
	}
	var running []corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil && IsReady(&list.Items[i]) {
			running = append(running, list.Items[i])
		}
	}
	if len(running) == 0 {
		return nil, fmt.Errorf("no Pod of the operator is ready")
	}
	return running, nil
}

func (w *World) operatorPIDs(ctx context.Context, pods []corev1.Pod) []int {
	ginkgo.GinkgoHelper()
	var pids []int
	for i := range pods {
		text, err := w.localkube(ctx, "pid", pods[i].Namespace, pods[i].Name, "manager")
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		pid, err := strconv.Atoi(text)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		pids = append(pids, pid)
	}
	return pids
}

func (c *Cluster) address(ctx context.Context, member string) string {
	ginkgo.GinkgoHelper()
	pod, err := c.Pod(ctx, member)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(pod.Status.PodIP).NotTo(gomega.BeEmpty(), "%s has no address", member)
	return pod.Status.PodIP
}
