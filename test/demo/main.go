// Demo shows an etcd cluster being created, used and healed on a Kubernetes that already runs the operator, and with -s3
// also backed up, to a real S3 server that it starts. `make demo` brings up what it needs and then runs it, `make demo
// BACKUP=1` with the backup. It ends with the one line that says whether all went well, and may be run again.
//
//	go run ./test/demo -kubectl "bin/localkube kubectl" -sample config/samples/etcdcluster.yaml -s3 bin/s3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	kubectl := flag.String("kubectl", "bin/localkube kubectl", "the kubectl to use, with its arguments")
	sample := flag.String("sample", "config/samples/etcdcluster.yaml", "the manifest of the cluster to create")
	s3 := flag.String("s3", "", "the directory of versitygw, an S3 server, for a backup at the end; empty: none is taken")
	host := flag.String("s3-host", "198.18.0.1", "the address by which Pods reach this machine; the default is localkube's")
	patience := flag.Duration("patience", 5*time.Minute, "how long any one step may take")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := demo{
		kube: kube{command: strings.Fields(*kubectl)}, sample: *sample, s3: s3Server{binaries: *s3, host: *host},
		patience: *patience, begin: time.Now(),
	}
	if err := d.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "demo: failed: %v\n", err)
		os.Exit(1)
	}
}

// demo is one run of the story.
type demo struct {
	kube     kube
	sample   string
	s3       s3Server
	patience time.Duration
	begin    time.Time
}

const cluster = "demo"

func (d demo) run(ctx context.Context) error {
	d.title("Creating the smallest cluster there is: three members, TLS on, volumes kept")
	if err := d.kube.show(ctx, "apply", "-f", d.sample); err != nil {
		return err
	}
	if err := d.untilReady(ctx, nil); err != nil {
		return err
	}
	if err := d.printMembers(ctx); err != nil {
		return err
	}
	value := fmt.Sprintf("written at %s", time.Now().Format(time.TimeOnly))
	d.title("Writing a key through TLS")
	if err := d.kube.show(ctx, "exec", cluster+"-0", "-c", "etcd", "--", "etcdctl", "put", "greeting", value); err != nil {
		return err
	}
	if err := d.loseAPod(ctx); err != nil {
		return err
	}
	if err := d.finish(ctx, value); err != nil || d.s3.binaries == "" {
		return err
	}
	return d.backUp(ctx)
}

// loseAPod deletes the leader's Pod, and waits for the same member to be back in a new one.
func (d demo) loseAPod(ctx context.Context) error {
	seen, err := d.kube.cluster(ctx)
	if err != nil {
		return err
	}
	lost := seen.Status.Leader
	uid, err := d.kube.podUID(ctx, lost)
	if err != nil {
		return err
	}
	d.title(fmt.Sprintf("Deleting the Pod of %s, the leader, and looking on", lost))
	if err := d.kube.show(ctx, "delete", "pod", lost, "--wait=false"); err != nil {
		return err
	}
	return d.untilReady(ctx, func() bool {
		now, err := d.kube.podUID(ctx, lost)
		return err == nil && now != uid
	})
}

// finish reads the key back from every member and says how to go on.
func (d demo) finish(ctx context.Context, value string) error {
	if err := d.printMembers(ctx); err != nil {
		return err
	}
	d.title("Reading the key back")
	out, err := d.kube.output(ctx, "exec", cluster+"-0", "-c", "etcd", "--", "etcdctl", "get", "greeting", "--print-value-only")
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimSpace(out))
	if strings.TrimSpace(out) != value {
		return fmt.Errorf("the key reads %q, and %q was written", strings.TrimSpace(out), value)
	}
	seen, err := d.kube.cluster(ctx)
	if err != nil {
		return err
	}
	kubectl := strings.Join(d.kube.command, " ")
	d.title("How to go on")
	fmt.Printf(`  %[1]s get etcd,pods -o wide
  %[1]s describe etcd %[2]s
  %[1]s exec %[2]s-0 -c etcd -- etcdctl member list -w table
  %[1]s scale etcd %[2]s --replicas=5
  make localkube-down        # tear everything down
  docs/quickstart.md         # the same step by step, also on kind, k3d, minikube or a Kubernetes of yours

`, kubectl, cluster)
	healthy := seen.healthyVoters()
	line := fmt.Sprintf("demo: %d/%d voters healthy, key read back", healthy, seen.Spec.Size)
	if healthy != seen.Spec.Size {
		return fmt.Errorf("only %d of %d voters are healthy", healthy, seen.Spec.Size)
	}
	fmt.Println(line)
	return nil
}

func (d demo) title(text string) {
	fmt.Printf("\n%6.1fs  %s\n", time.Since(d.begin).Seconds(), text)
}
