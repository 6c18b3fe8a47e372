// Package report injects faults and makes changes, each in a cluster of its own, while many clients ask it at once. It measures
// what they notice, and writes down every request and answer for etcd's own model to judge: `make report`, which
// test/histories ends with that judgement and a table. Like the stories it breaks what it runs on.
package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// directory is where the report goes.
var directory = os.Getenv("REPORT")

var kube *world.World

func TestReport(t *testing.T) {
	if directory == "" {
		needs.Unfit(t, "make report runs it, and names the directory of the report in REPORT")
	}
	if names := unknown(); len(names) > 0 {
		t.Fatalf("ROWS names %q; docs/report.md has the names of the rows", names)
	}
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(world.Patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "etcd-steward: what clients notice")
}

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	kube, err = world.Connect()
	Expect(err).NotTo(HaveOccurred())
	kube.Manager = filepath.Join("..", kube.Manager) // it is named from test/e2e
	Expect(kube.Localkube).NotTo(BeEmpty(), "the report breaks what only a localkube lets it break; LOCALKUBE names none")
	awaitOperator(ctx)
	Expect(kube.Fence(ctx)).To(Succeed())
	DeferCleanup(kube.Unfence)
	Expect(writeJSON("about.json", aboutThisRun())).To(Succeed())
})

func awaitOperator(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() error { return operatorIsReady(ctx) }).Should(Succeed(), "the operator is not installed and ready")
}

// operatorIsReady says what is missing until both replicas of the operator are ready and one of them is in charge.
func operatorIsReady(ctx context.Context) error {
	operator := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: world.OperatorNamespace, Name: world.OperatorName}
	if err := kube.Client.Get(ctx, key, operator); err != nil {
		return err
	}
	leader, err := kube.OperatorLeader(ctx)
	if err == nil && (operator.Status.ReadyReplicas != 2 || !world.IsReady(leader)) {
		err = fmt.Errorf("%d replicas of the operator are ready, and %s is in charge", operator.Status.ReadyReplicas, leader.Name)
	}
	return err
}

// about is what a reader has to know of where the figures are from.
type about struct {
	Date       time.Time `json:"date"`
	Operator   string    `json:"operator"` // its version, or its commit
	Kubernetes string    `json:"kubernetes"`
	Etcd       string    `json:"etcd"`
	Processors int       `json:"processors"`
	Memory     string    `json:"memory,omitempty"`
	Kernel     string    `json:"kernel,omitempty"`
	Rows       []string  `json:"rows"` // that were asked for, in their order
	Runs       int       `json:"runs"`
}

func aboutThisRun() about {
	GinkgoHelper()
	server, err := discovery.NewDiscoveryClientForConfig(kube.Config)
	Expect(err).NotTo(HaveOccurred())
	version, err := server.ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	a := about{Date: time.Now().UTC(), Operator: os.Getenv("VERSION"), Kubernetes: version.GitVersion, Etcd: world.DefaultVersion,
		Processors: runtime.NumCPU(), Memory: memory(), Kernel: kernel(), Runs: runs}
	for _, s := range wanted() {
		a.Rows = append(a.Rows, s.id)
	}
	return a
}
