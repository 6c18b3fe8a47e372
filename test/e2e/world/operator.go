package world

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/client-go/tools/clientcmd"
)

// NewStoryWithOwnOperator makes a namespace that the installed operator cannot write to (see Fence), for a story that
// brings operators of its own: processes of this machine, with the installed operator's rights in this namespace alone.
func (w *World) NewStoryWithOwnOperator(ctx context.Context) (*Story, error) {
	s, err := w.NewFencedStory(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.GrantOperator(ctx)
}

// GrantOperator makes the account that operators of this story run as.
func (s *Story) GrantOperator(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "operator"}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ManagerRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.Namespace, Name: account.Name}},
	}
	if err := s.Client.Create(ctx, account); err != nil {
		return fmt.Errorf("making the operator's account: %w", err)
	}
	if err := s.Client.Create(ctx, binding); err != nil {
		return fmt.Errorf("giving the operator its rights: %w", err)
	}
	return nil
}

// Operator is an operator that runs as a process of this machine and looks after one story's namespace.
type Operator struct {
	story      *Story
	install    string // the namespace that it believes to be installed in
	kubeconfig string
	image      string // of the installed operator, which backups run from
	flags      []string
	log        *os.File

	turn    sync.Mutex // held through a restart
	mu      sync.Mutex
	process *exec.Cmd
	kills   int
}

// StartOperator starts one, with further flags. It is killed after the story at the latest; its log is printed when the
// story failed.
func (s *Story) StartOperator(ctx context.Context, flags ...string) *Operator {
	ginkgo.GinkgoHelper()
	return s.StartOperatorOf(ctx, s.Namespace, flags...)
}

// StartOperatorOf starts one of another install: as if it was installed in that namespace.
func (s *Story) StartOperatorOf(ctx context.Context, install string, flags ...string) *Operator {
	ginkgo.GinkgoHelper()
	directory := ginkgo.GinkgoT().TempDir()
	log, err := os.Create(filepath.Join(directory, "operator.log"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if install != s.Namespace {
		gomega.Expect(s.makeInstall(ctx, install)).To(gomega.Succeed())
	}
	o := &Operator{story: s, install: install, flags: flags, log: log, kubeconfig: filepath.Join(directory, "kubeconfig")}
	gomega.Expect(s.writeKubeconfig(ctx, o.kubeconfig)).To(gomega.Succeed())
	installed := &appsv1.Deployment{}
	gomega.Expect(s.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorName}, installed)).To(gomega.Succeed())
	o.image = installed.Spec.Template.Spec.Containers[0].Image
	gomega.Expect(o.start()).To(gomega.Succeed())
	ginkgo.DeferCleanup(func() {
		o.Kill()
		defer log.Close()
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.GinkgoWriter.Printf("\n---- operator of the story, killed %d times\n%s\n", o.kills, linesWith(o.Log(), "", 300))
		}
	})
	return o
}

// writeKubeconfig lets a process be the story's operator: the account's token, and nothing else of this machine.
func (s *Story) writeKubeconfig(ctx context.Context, path string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "operator"}}
	token := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("asking for the operator's token: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["story"] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData, CertificateAuthority: s.Config.CAFile}
	config.AuthInfos["story"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["story"] = &clientcmdapi.Context{Cluster: "story", AuthInfo: "story"}
	config.CurrentContext = "story"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing the operator's kubeconfig: %w", err)
	}
	return nil
}

// start begins a process, where none runs: two who start it at once begin one.
func (o *Operator) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.process != nil {
		return nil
	}
	process := exec.Command(o.story.Manager, append([]string{"--leader-elect=false", "--namespace", o.story.Namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--agent-image", o.image}, o.flags...)...)
	process.Env = append(os.Environ(), "KUBECONFIG="+o.kubeconfig, "POD_NAMESPACE="+o.install)
	process.Stdout, process.Stderr = o.log, o.log
	if err := o.renew(); err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", o.story.Manager, err)
	}
	o.process = process
	go o.keepLease(process)
	return nil
}

// makeInstall makes the namespace of another install, where the story's operators may read its Lease.
func (s *Story) makeInstall(ctx context.Context, install string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: install}}
	if err := client.IgnoreAlreadyExists(s.Client.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("making the namespace of another install: %w", err)
	}
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		return client.IgnoreNotFound(s.Client.Delete(ctx, namespace))
	})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: install, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ManagerRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.Namespace, Name: "operator"}},
	}
	if err := client.IgnoreAlreadyExists(s.Client.Create(ctx, binding)); err != nil {
		return fmt.Errorf("letting operators read the Lease of another install: %w", err)
	}
	return nil
}

// keepLease renews the Lease of the install for as long as the process runs. The process elects no leader, so that it
// acts as soon as it is started again; other installs would take it for gone.
func (o *Operator) keepLease(process *exec.Cmd) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for isOver := false; !isOver; {
		<-tick.C
		o.mu.Lock()                                       // so that a process that was killed has renewed it for the last time
		isOver = o.process != process || o.renew() != nil // which fails once the story's namespace is going
		o.mu.Unlock()
	}
}

func (o *Operator) renew() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.install, Name: LeaseName},
		Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	err := o.story.Client.Create(ctx, lease.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = o.story.Client.Patch(ctx, lease, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))))
	}
	if err != nil {
		return fmt.Errorf("renewing the Lease of %s: %w", o.install, err)
	}
	return nil
}

// Uninstall kills the process, and takes away what is left of an install whose namespace is deleted: its Lease.
func (o *Operator) Uninstall(ctx context.Context) {
	ginkgo.GinkgoHelper()
	o.Kill()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.install, Name: LeaseName}}
	gomega.Expect(client.IgnoreNotFound(o.story.Client.Delete(ctx, lease))).To(gomega.Succeed())
}

// Log is all that the operator has logged, through its restarts.
func (o *Operator) Log() string {
	text, _ := os.ReadFile(o.log.Name())
	return string(text)
}

// Kill ends the process as kill -9 does; ending one that is ended does nothing.
func (o *Operator) Kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.process == nil {
		return
	}
	_ = o.process.Process.Kill()
	_ = o.process.Wait()
	o.process = nil
	o.kills++
}

// Start starts it again after a kill; it leaves one that runs.
func (o *Operator) Start() {
	ginkgo.GinkgoHelper()
	gomega.Expect(o.start()).To(gomega.Succeed())
}

// Restart kills it and starts it again. Those who restart it at the same time take turns.
func (o *Operator) Restart() {
	ginkgo.GinkgoHelper()
	o.turn.Lock()
	defer o.turn.Unlock()
	o.Kill()
	o.Start()
}

// KillAtEachRule kills the operator whenever another rule has spoken for the cluster, and starts it again at once, until
// the returned function is called. That one says after which rules it was killed. The operator's log is followed and not
// the status, which is not written for every step of a quick row of them.
func (o *Operator) KillAtEachRule(c *Cluster) (stop func() []string) {
	return o.atEach(c, func(p pass) string { return p.Rule }, o.Kill, o.Start)
}

// KillAtEachChange does the same whenever another change was made, or tried, and says after which.
func (o *Operator) KillAtEachChange(c *Cluster) (stop func() []string) {
	return o.atEach(c, func(p pass) string { return p.Change }, o.Kill, o.Start)
}

// AtEachChange has something else done then.
func (o *Operator) AtEachChange(c *Cluster, do func()) (stop func() []string) {
	return o.atEach(c, func(p pass) string { return p.Change }, do, func() {})
}

// atEach begins something at each step, reads what was logged meanwhile, and ends it.
func (o *Operator) atEach(c *Cluster, step func(pass) string, begin, end func()) (stop func() []string) {
	ctx, cancel := context.WithCancel(context.Background())
	var after []string
	log := passLog{read: len(o.Log()), step: step}
	var ended sync.WaitGroup
	ended.Go(func() {
		defer ginkgo.GinkgoRecover()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if next := log.next(o.Log(), c.Name); next != "" {
				begin()
				for said := o.Log(); next != ""; next = log.next(said, c.Name) {
					after = append(after, next) // it may have carried out more than one before it died
				}
				end()
			}
		}
	})
	stop = func() []string { cancel(); ended.Wait(); return after }
	ginkgo.DeferCleanup(func() { stop() })
	return stop
}

// pass is what is read of the one line that the operator logs for each pass.
type pass struct{ Msg, Cluster, Rule, Change string }

// passLog follows those lines, so that no step is missed however quick the next one.
type passLog struct {
	read int // bytes
	step func(pass) string
	last string
}

// next is the first step for the cluster, in what was not read yet, that is another than the last; empty when none is.
func (l *passLog) next(log, cluster string) string {
	for l.read < len(log) {
		line, _, whole := strings.Cut(log[l.read:], "\n")
		if !whole {
			return "" // half written
		}
		l.read += len(line) + 1
		var p pass
		if json.Unmarshal([]byte(line), &p) != nil || p.Msg != "pass" || p.Cluster != cluster {
			continue
		}
		if step := l.step(p); step != "" && step != l.last {
			l.last = step
			return step
		}
	}
	return ""
}

// Stolen is a client with a token of the installed operator's account.
func (w *World) Stolen(ctx context.Context) client.Client {
	ginkgo.GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: OperatorName}}
	request := &authenticationv1.TokenRequest{}
	gomega.Expect(w.Client.SubResource("token").Create(ctx, account, request)).To(gomega.Succeed())
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken = request.Status.Token
	thief, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return thief
}
