package arrows

import "slices"

// room is a directory of the architecture, with everything under it that is not a room of its own.
type room struct {
	path    string
	enters  []string // rooms of this module that its packages may import
	foreign []string // other modules that its packages may import; nil means the standard library only, "*" means any
	never   []string // what they may not reach by any path: "net" is that package, "k8s.io/" everything under it
	shuns   []string // what they may not import themselves, though what they import may reach it
}

// impure is what a deciding package may not reach: the outside world, and the way to wait for it.
var impure = []string{"k8s.io/", "sigs.k8s.io/", "go.etcd.io/", "google.golang.org/", "net", "net/http", "context",
	"os/exec", "log/slog"}

// ioAndWaiting is what a deciding package does not import itself: fmt reaches os, and Kubernetes reaches all of it.
var ioAndWaiting = []string{"net", "net/http", "net/http/", "os", "os/", "context"}

// onlyInTests is what no room but test imports.
var onlyInTests = []string{"github.com/onsi/", "math/rand"}

// kubernetes is what pkg/ may not reach: it must be usable without Kubernetes.
var kubernetes = []string{"k8s.io/", "sigs.k8s.io/"}

// clients is what a pure builder of Kubernetes objects may not reach.
var clients = []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "go.etcd.io/"}

// reconcilers is what must not be linked where clusters are only looked at: by observe, and by the kubectl plugin.
var reconcilers = []string{
	"sigs.k8s.io/controller-runtime/pkg/manager", "sigs.k8s.io/controller-runtime/pkg/builder",
	"sigs.k8s.io/controller-runtime/pkg/controller",
	module + "/controllers/kit",
}

// wings are what carries out decisions. The kubectl plugin foretells them, and must not be able to.
var wings = []string{module + "/controllers/apply", module + "/controllers/cluster", module + "/controllers/backup",
	module + "/controllers/schedule", module + "/controllers/access"}

// connections are what could reach an etcd. What looks and what foretells know etcd's errors by name, and no more.
var connections = []string{"go.etcd.io/etcd/client/", "go.etcd.io/etcd/server/", "google.golang.org/grpc/internal/transport",
	module + "/pkg/etcdutil/client/dial"}

// rooms is the picture "Arrows" of the architecture, from left to right.
var rooms = []room{
	{
		path: "cmd/manager",
		enters: []string{
			"controllers/cluster", "controllers/backup", "controllers/schedule", "controllers/access",
			"controllers/kit", "controllers/observe", "controllers/admission", "controllers/resources", "api",
			"controllers/pages", "pkg/pki", "pkg/etcdutil",
		},
		foreign: []string{"*"},
	},
	{
		// It has etcdctl in it, for ctl. What it foretells by connects to nothing: see controllers/forecast.
		path: "cmd/kubectl-etcd-steward",
		enters: []string{"controllers/admission", "controllers/forecast", "controllers/plan", "controllers/plan/ahead",
			"controllers/plan/changes", "controllers/plan/facts", "controllers/resources", "controllers/scheduleplan",
			"controllers/backupplan", "controllers/accessplan", "controllers/pages", "config/crd", "api", "pkg/pki",
			"pkg/etcdutil"},
		foreign: []string{"*"},
		never: slices.Concat(reconcilers, wings,
			[]string{"go.etcd.io/etcd/server/", module + "/pkg/etcdutil/client/dial"}),
		shuns: connections,
	},
	{path: "controllers"}, // a hall without code
	{
		path: "controllers/cluster",
		enters: []string{
			"controllers/kit", "controllers/observe", "controllers/apply", "controllers/report", "controllers/plan",
			"controllers/plan/facts", "controllers/plan/changes", "controllers/record", "controllers/admission",
			"controllers/resources", "controllers/backupplan", "controllers/words", "api", "pkg/etcdutil",
			"pkg/etcdutil/client", "pkg/etcdutil/client/dial",
		},
		foreign: []string{"*"},
	},
	{
		path: "controllers/backup",
		enters: []string{
			"controllers/kit", "controllers/kit/jobs", "controllers/observe", "controllers/apply", "controllers/record",
			"controllers/resources", "controllers/backupplan",
			"controllers/scheduleplan", "controllers/words", "api",
		},
		foreign: []string{"*"},
	},
	{
		path: "controllers/schedule",
		enters: []string{
			"controllers/kit", "controllers/kit/jobs", "controllers/observe", "controllers/apply", "controllers/record",
			"controllers/resources", "controllers/scheduleplan",
			"controllers/backupplan", "controllers/words", "api",
		},
		foreign: []string{"*"},
	},
	{
		path: "controllers/access",
		enters: []string{
			"controllers/kit", "controllers/observe", "controllers/apply", "controllers/record", "controllers/resources",
			"controllers/accessplan", "controllers/words", "api", "pkg/pki", "pkg/etcdutil/client",
			"pkg/etcdutil/client/dial",
		},
		foreign: []string{"*"},
	},
	{path: "controllers/kit", enters: []string{"controllers/apply", "controllers/resources", "controllers/words", "api"},
		foreign: []string{"*"}},
	{
		path: "controllers/kit/jobs",
		enters: []string{"controllers/observe", "controllers/plan/facts", "controllers/resources",
			"controllers/backupplan", "api"},
		foreign: []string{"*"},
	},
	{
		path: "controllers/observe",
		enters: []string{
			"controllers/plan", "controllers/plan/facts", "controllers/plan/changes", "controllers/backupplan",
			"controllers/scheduleplan", "controllers/record", "controllers/resources", "controllers/words", "api",
			"pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki",
		},
		foreign: []string{"*"},
		never:   slices.Concat(connections, reconcilers),
	},
	{
		path: "controllers/forecast",
		enters: []string{"controllers/observe", "controllers/plan/ahead", "controllers/plan/facts", "controllers/admission",
			"controllers/resources", "api", "pkg/etcdutil", "pkg/etcdutil/client"},
		foreign: []string{"*"},
		never:   slices.Concat(connections, reconcilers, wings),
	},
	{
		path: "controllers/apply",
		enters: []string{"controllers/plan", "controllers/plan/facts", "controllers/plan/changes",
			"controllers/record", "controllers/resources", "controllers/words", "api", "pkg/etcdutil",
			"pkg/etcdutil/client", "pkg/pki"},
		foreign: []string{"*"},
	},
	{
		path: "controllers/report",
		enters: []string{"controllers/plan", "controllers/plan/facts", "controllers/plan/changes",
			"controllers/plan/judge", "controllers/record", "controllers/words", "controllers/pages", "api",
			"pkg/etcdutil"},
		foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"},
		never:   clients,
	},
	{
		path:    "controllers/backupplan",
		enters:  []string{"controllers/words", "api", "pkg/etcdutil"},
		foreign: []string{"k8s.io/apimachinery/"},
		never:   clients,
		shuns:   ioAndWaiting,
	},
	{
		path:    "controllers/scheduleplan",
		enters:  []string{"controllers/backupplan", "controllers/words", "api"},
		foreign: []string{"k8s.io/apimachinery/", "github.com/robfig/cron/v3"},
		never:   clients,
		shuns:   ioAndWaiting,
	},
	{
		path:    "controllers/accessplan",
		enters:  []string{"controllers/pages", "controllers/words", "api"},
		foreign: []string{"k8s.io/apimachinery/"},
		never:   clients,
		shuns:   ioAndWaiting,
	},
	{path: "controllers/pages", never: impure},
	{path: "controllers/words", enters: []string{"pkg/etcdutil"}, foreign: []string{"k8s.io/apimachinery/"}, never: clients},
	{
		path:    "controllers/resources",
		enters:  []string{"controllers/record", "api", "pkg/etcdutil", "pkg/pki"},
		foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/component-helpers/resource", "k8s.io/utils/", "sigs.k8s.io/yaml"},
		never:   clients,
	},
	{path: "controllers/admission", enters: []string{"controllers/scheduleplan", "api", "pkg/etcdutil"}, foreign: []string{"*"}},
	{
		path: "controllers/plan",
		enters: []string{
			"controllers/plan/changes", "controllers/plan/judge", "controllers/plan/facts",
			"controllers/record", "controllers/pages", "pkg/etcdutil",
		},
		never: impure,
		shuns: ioAndWaiting,
	},
	{
		// neither a rule nor a judgement: what clears a change is found out apart from what proposes it
		path:   "controllers/plan/changes",
		enters: []string{"controllers/plan/facts", "controllers/record", "pkg/etcdutil"},
		never:  append([]string{module + "/controllers/plan/judge"}, impure...),
		shuns:  ioAndWaiting,
	},
	{path: "controllers/plan/judge", enters: []string{"controllers/plan/facts", "pkg/etcdutil"}, never: impure,
		shuns: ioAndWaiting},
	{path: "controllers/plan/facts", enters: []string{"controllers/record", "pkg/etcdutil"}, never: impure,
		shuns: ioAndWaiting},
	{
		path: "controllers/plan/ahead",
		enters: []string{"controllers/plan", "controllers/plan/changes", "controllers/plan/facts", "controllers/record",
			"pkg/etcdutil"},
		never: impure,
		shuns: ioAndWaiting,
	},
	{
		path: "controllers/plan/world",
		enters: []string{
			"controllers/plan", "controllers/plan/changes", "controllers/plan/judge", "controllers/plan/facts",
			"controllers/record", "pkg/etcdutil",
		},
		never: impure,
		shuns: ioAndWaiting,
	},
	{path: "controllers/record", enters: []string{"pkg/etcdutil"}, never: impure,
		shuns: ioAndWaiting},
	{path: "api", foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"}, never: clients},
	{path: "pkg/pki", foreign: []string{"software.sslmate.com/src/go-pkcs12"}, never: append([]string{"go.etcd.io/"}, kubernetes...)},
	{
		path:    "pkg/etcdutil/fake",
		enters:  []string{"pkg/etcdutil", "pkg/etcdutil/client"},
		foreign: []string{"go.etcd.io/etcd/", "google.golang.org/grpc"},
		never:   kubernetes,
	},
	{
		// what it says of etcd's errors, without what connects
		path:    "pkg/etcdutil/client",
		enters:  []string{"pkg/etcdutil"},
		foreign: []string{"go.etcd.io/etcd/api/", "google.golang.org/grpc"},
		never:   append([]string{"go.etcd.io/etcd/client/"}, kubernetes...),
	},
	{
		path:    "pkg/etcdutil/client/dial",
		enters:  []string{"pkg/etcdutil", "pkg/etcdutil/client"},
		foreign: []string{"go.etcd.io/etcd/", "google.golang.org/grpc", "go.uber.org/zap", "github.com/prometheus/"},
		never:   kubernetes,
	},
	{path: "pkg/etcdutil", never: impure, shuns: ioAndWaiting},
	{
		path:    "cmd/agent",
		enters:  []string{"pkg/backup", "pkg/backup/store", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/etcdutil/client/dial"},
		foreign: []string{"golang.org/x/crypto/x509roots/fallback"},
		never:   kubernetes,
	},
	{
		path:   "pkg/backup",
		enters: []string{"pkg/backup/store", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki"},
		foreign: []string{"go.etcd.io/", "google.golang.org/grpc", "google.golang.org/protobuf/", "go.uber.org/zap",
			"golang.org/x/sync/errgroup"},
		never: kubernetes,
	},
	{path: "pkg/backup/store", foreign: []string{"*"}, never: kubernetes},
	{path: "config/policy"},
	{path: "config/crd"},
	{
		path: "test",
		enters: []string{
			"config/policy",
			"controllers/kit", "controllers/report", "controllers/record", "controllers/resources", "controllers/plan",
			"controllers/plan/facts", "controllers/plan/changes", "controllers/plan/world", "api", "pkg/pki",
			"pkg/etcdutil", "pkg/etcdutil/client", "pkg/etcdutil/client/dial", "pkg/etcdutil/fake",
		},
		foreign: []string{"*"},
	},
}

// notYet names the rooms of the table that no package has moved into. Remove one here when its first package appears.
var notYet []string
