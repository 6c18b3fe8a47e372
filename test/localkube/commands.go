package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cluster"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/dns"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/host"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/registry"
)

// command is one word after localkube. It gets exactly the arguments that it names; after those there may be more, where
// there are square brackets or three dots.
type command struct {
	name string
	args []string
	help string
	run  func(context.Context, *cluster.Cluster, []string) error
}

func commands() []command {
	return []command{
		{"up", []string{"[--nodes 3]", "[--ip-families IPv4]", "[--kubernetes 1.37]", "[--etcd <versions>]", "[--cluster-domain <domain>]",
			"[--feature-gates <gates>]", "[--runtime-config <APIs>]", "[--fresh]", "[--on-disk]", "[--yes]"},
			"start it; what already runs and is whole stays, unless --fresh", up},
		{"down", nil, "stop it and remove every trace", down},
		{"build", []string{"[--kubernetes 1.37]", "[--etcd <versions>]", "[--csi]", "[--yes]"}, "only build what `up` needs, and `csi`, into the cache", build},
		{"etcd", []string{"[--etcd <versions>]"}, "only build releases of etcd into the cache, as any user", etcd},
		{"add-etcd", []string{"<versions>"}, "build releases of etcd, such as a pre-release, and make their images known to every node", addEtcd},
		{"status", nil, "one line for each host; fails if something has ended", status},
		{"load", []string{"<docker-archive.tar>", "..."}, "make images known to every node", load},
		{"push", []string{"[<docker-archive.tar> ...]"}, "put images into the registry, or without an archive those of etcd; print their names", push},
		{"registry", nil, "print the registry's host and port, its user and its password", showRegistry},
		{"kubectl", []string{"..."}, "kubectl of the server's version, as the administrator", kubectl},
		{"csi", nil, "start a CSI driver whose volumes grow, and make its classes; once for each `up`", startCSI},
		{"cut", []string{"<node>"}, "pull its network plug", onNode((*cluster.Cluster).Cut)},
		{"heal", []string{"<node>"}, "put the plug back", onNode((*cluster.Cluster).Heal)},
		{"kill-node", []string{"<node>"}, "end all that runs on it at once, as a loss of power does", killNode},
		{"start-node", []string{"<node>"}, "start it again; volumes are as they were", startNode},
		{"kubeconfig", nil, "print the path of the administrator's kubeconfig", show(layout.Paths.Kubeconfig)},
		{"audit-log", nil, "print the path of the API server's audit log", show(layout.Paths.AuditLog)},
		{"logs", nil, "print the directory with the logs of all daemons", show(layout.Paths.Logs)},
		{"volumes", []string{"<node>"}, "print the directory that holds its local-path volumes", volumes},
		{"provision", []string{"<kubeconfig>"}, "give claims volumes; `up` starts this", provision},
		{"csi-controller", []string{"<kubeconfig>"}, "give claims volumes that grow; `csi` starts this", csiController},
		{"csi-node", []string{"<node>"}, "be the CSI driver of a node; `csi` starts this", csiNode},
		{"dns", []string{"<Corefile>"}, "answer names; `up` starts this", serveDNS},
		{"serve-images", []string{"<directory>", "<certificate>", "<key>", "<address>", "..."}, "be the registry; `up` starts this", serveImages},
		{"binary", []string{"<name>"}, "print the path of a program of Kubernetes in the cache", binary},
		{"pid", []string{"<namespace>", "<pod>", "<container>"}, "print the process ID, on this machine, of a container", pid},
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		_, _ = fmt.Fprint(os.Stdout, usage())
		return nil
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		if err := c.check(args[1:]); err != nil {
			return err
		}
		images, err := cache.Open(os.Stdout)
		if err != nil {
			return err
		}
		target := &cluster.Cluster{Paths: layout.Default(), Cache: images, Progress: os.Stdout, Began: time.Now()}
		target.Follow()
		return c.run(ctx, target, args[1:])
	}
	return fmt.Errorf("no command %q\n%s", args[0], usage())
}

func usage() string {
	var text strings.Builder
	text.WriteString("localkube: a real Kubernetes on this machine\n\n")
	for _, c := range commands() {
		_, _ = fmt.Fprintf(&text, "  %-54s %s\n", c.line(), c.help)
	}
	return text.String()
}

func (c command) check(args []string) error {
	needed, more := 0, false
	for _, a := range c.args {
		switch {
		case a == "...", strings.HasPrefix(a, "["):
			more = true
		default:
			needed++
		}
	}
	if len(args) < needed || len(args) > needed && !more {
		return fmt.Errorf("usage: localkube %s", c.line())
	}
	return nil
}

func (c command) line() string { return strings.Join(append([]string{c.name}, c.args...), " ") }

func up(ctx context.Context, c *cluster.Cluster, args []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	nodes := flags.Int("nodes", 0, "how many nodes; as many as are up, or 3")
	var families layout.Families
	flags.TextVar(&families, "ip-families", layout.Families(nil),
		"IPv4, IPv6, or both with a comma, the first one first; as it is up, or IPv4")
	fresh := flags.Bool("fresh", false, "start anew even if it is up already")
	flags.BoolVar(&c.OnDisk, "on-disk", false, "keep data on disk, for more than memory has room for; it has an effect when localkube starts")
	flags.StringVar(&c.Domain, "cluster-domain", "", "DNS domain of Services; that which is up, or cluster.local")
	flags.StringVar(&c.FeatureGates, "feature-gates", "", "of the control plane, such as EvictionRequestAPI=true; those that are up, or Kubernetes' defaults")
	flags.StringVar(&c.RuntimeConfig, "runtime-config", "", "of the API server, such as lifecycle.k8s.io/v1alpha1=true; that which is up, or Kubernetes' defaults")
	return prepared(ctx, c, flags, args, func() error {
		c.Began = time.Now()
		if err := c.Up(ctx, *nodes, families, *fresh); err != nil {
			return err
		}
		_, err := fmt.Printf("localkube is up: export KUBECONFIG=%s\n", c.Paths.Kubeconfig())
		return err
	})
}

func build(ctx context.Context, c *cluster.Cluster, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	driver := flags.Bool("csi", false, "also what `csi` needs")
	return prepared(ctx, c, flags, args, func() error {
		if !*driver {
			return nil
		}
		return c.Cache.FillDriver(ctx)
	})
}

// etcd builds what unit tests try, and needs nothing of this machine but Go.
func etcd(ctx context.Context, c *cluster.Cluster, args []string) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	if err := parse(c, flags, args); err != nil {
		return err
	}
	return locked(ctx, c, func() error { return c.Cache.FillEtcd(ctx) })
}

// addEtcd is for what nodes have no images of from the start.
func addEtcd(ctx context.Context, c *cluster.Cluster, args []string) error {
	if err := c.Cache.Choose(args[0]); err != nil {
		return err
	}
	return locked(ctx, c, func() error {
		if err := c.Cache.FillEtcd(ctx); err != nil {
			return err
		}
		return c.AddEtcd(ctx)
	})
}

// parse reads the flags of what fills the cache.
func parse(c *cluster.Cluster, flags *flag.FlagSet, args []string) error {
	flags.Func("etcd", "versions of etcd to build and to have images of, such as 3.5.35,3.6.16 (default all)", c.Cache.Choose)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", flags.Name(), flags.Arg(0))
	}
	return nil
}

// prepared does something after it has brought this machine and the cache to where `up` takes seconds.
func prepared(ctx context.Context, c *cluster.Cluster, flags *flag.FlagSet, args []string, do func() error) error {
	yes := flags.Bool("yes", false, "install missing Debian packages without asking")
	flags.Func("kubernetes", "minor version of Kubernetes, such as 1.34; that which is there, or "+cache.KubernetesVersion, c.Cache.ChooseKubernetes)
	if err := parse(c, flags, args); err != nil {
		return err
	}
	if err := host.Check(c.Cache.Dir); err != nil {
		return err
	}
	return locked(ctx, c, func() error {
		if err := host.Install(os.Stdout, *yes); err != nil {
			return err
		}
		if err := c.Cache.Fill(ctx); err != nil {
			return err
		}
		return do()
	})
}

func down(ctx context.Context, c *cluster.Cluster, _ []string) error {
	return locked(ctx, c, c.Down)
}

func status(ctx context.Context, c *cluster.Cluster, _ []string) error {
	return c.Status(ctx, os.Stdout)
}

func load(ctx context.Context, c *cluster.Cluster, args []string) error {
	return locked(ctx, c, func() error {
		for _, archive := range args {
			if err := c.Load(ctx, archive); err != nil {
				return err
			}
		}
		return nil
	})
}

func push(ctx context.Context, c *cluster.Cluster, args []string) error {
	names, err := c.Push(ctx, args)
	for _, name := range names {
		fmt.Println(name)
	}
	return err
}

func showRegistry(_ context.Context, c *cluster.Cluster, _ []string) error {
	host, err := c.Registry()
	if err != nil {
		return err
	}
	_, err = fmt.Println(host, registry.User, registry.Password)
	return err
}

func serveImages(ctx context.Context, _ *cluster.Cluster, args []string) error {
	return registry.Server{Dir: args[0], Certificate: args[1], Key: args[2]}.Run(ctx, args[3:]...)
}

// kubectl replaces this process, so that signals, terminal and exit code are kubectl's own.
func kubectl(ctx context.Context, c *cluster.Cluster, args []string) error {
	cmd := c.Kubectl(ctx, args...)
	if err := syscall.Exec(cmd.Path, cmd.Args, os.Environ()); err != nil {
		return fmt.Errorf("`localkube build` first: running %s: %w", cmd.Path, err)
	}
	return nil
}

func onNode(do func(*cluster.Cluster, string) error) func(context.Context, *cluster.Cluster, []string) error {
	return func(_ context.Context, c *cluster.Cluster, args []string) error { return do(c, args[0]) }
}

func killNode(ctx context.Context, c *cluster.Cluster, args []string) error {
	return locked(ctx, c, func() error { return c.KillNode(args[0]) })
}

func startNode(ctx context.Context, c *cluster.Cluster, args []string) error {
	return locked(ctx, c, func() error { return c.StartNode(ctx, args[0]) })
}

func show(path func(layout.Paths) string) func(context.Context, *cluster.Cluster, []string) error {
	return func(_ context.Context, c *cluster.Cluster, _ []string) error {
		_, err := fmt.Println(path(c.Paths))
		return err
	}
}

func volumes(_ context.Context, c *cluster.Cluster, args []string) error {
	dir, err := c.Volumes(args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Println(dir)
	return err
}

func provision(ctx context.Context, c *cluster.Cluster, args []string) error {
	return c.Provision(ctx, args[0])
}

func startCSI(ctx context.Context, c *cluster.Cluster, _ []string) error {
	return locked(ctx, c, func() error { return c.StartCSI(ctx) })
}

func csiController(ctx context.Context, c *cluster.Cluster, args []string) error {
	return c.RunCSIController(ctx, args[0])
}

func csiNode(ctx context.Context, c *cluster.Cluster, args []string) error {
	return c.RunCSINode(ctx, args[0])
}

func serveDNS(ctx context.Context, _ *cluster.Cluster, args []string) error {
	return dns.Run(ctx, args[0])
}

func binary(_ context.Context, c *cluster.Cluster, args []string) error {
	path := c.Cache.Binary(args[0])
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no %s: `localkube build` first: %w", args[0], err)
	}
	_, err := fmt.Println(path)
	return err
}

func pid(ctx context.Context, c *cluster.Cluster, args []string) error {
	found, err := c.ContainerPID(ctx, args[0], args[1], args[2])
	if err != nil {
		return err
	}
	_, err = fmt.Println(found)
	return err
}

// locked keeps others from building, starting or stopping meanwhile.
func locked(ctx context.Context, c *cluster.Cluster, do func() error) error {
	unlock, err := c.Cache.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
