package arrows

// room is a directory of the architecture, with everything under it that is not a room of its own.
type room struct {
	path    string
	enters  []string // rooms of this module that its packages may import
	foreign []string // other modules that its packages may import; nil means the standard library only, "*" means any
	never   []string // what they may not reach by any path: "net" is that package, "k8s.io/" everything under it
}

// impure is what a deciding package may not reach: the outside world, and the way to wait for it.
var impure = []string{"k8s.io/", "sigs.k8s.io/", "go.etcd.io/", "google.golang.org/", "net", "net/http", "context", "os/exec", "log/slog"}

// kubernetes is what pkg/ may not reach: it must be usable without Kubernetes.
var kubernetes = []string{"k8s.io/", "sigs.k8s.io/"}

// clients is what a pure builder of Kubernetes objects may not reach.
var clients = []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "go.etcd.io/"}

// rooms is the picture "Arrows" of the architecture, from left to right.
var rooms = []room{
	{
		path: "cmd/manager",
		enters: []string{
			"controllers", "controllers/observe", "controllers/apply", "api", "pkg/etcdutil", "pkg/etcdutil/client",
		},
		foreign: []string{"*"},
	},
	{
		path: "controllers",
		enters: []string{
			"controllers/observe", "controllers/apply", "controllers/report", "controllers/plan", "controllers/resources",
			"controllers/backup", "controllers/schedule", "controllers/words", "controllers/admission", "api", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki",
		},
		foreign: []string{"*"},
	},
	{
		path:    "controllers/observe",
		enters:  []string{"controllers/plan", "controllers/resources", "api", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki"},
		foreign: []string{"*"},
	},
	{
		path:    "controllers/apply",
		enters:  []string{"controllers/plan", "controllers/resources", "api", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki"},
		foreign: []string{"*"},
	},
	{
		path:    "controllers/report",
		enters:  []string{"controllers/plan", "api", "pkg/etcdutil"},
		foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"},
		never:   clients,
	},
	{
		path:    "controllers/backup",
		enters:  []string{"controllers/words", "api", "pkg/etcdutil"},
		foreign: []string{"k8s.io/apimachinery/"},
		never:   clients,
	},
	{
		path:    "controllers/schedule",
		enters:  []string{"controllers/backup", "controllers/words", "api"},
		foreign: []string{"k8s.io/apimachinery/", "github.com/robfig/cron/v3"},
		never:   clients,
	},
	{path: "controllers/words", foreign: []string{"k8s.io/apimachinery/"}, never: clients},
	{
		path:    "controllers/resources",
		enters:  []string{"api", "pkg/etcdutil"},
		foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/utils/", "sigs.k8s.io/yaml"},
		never:   clients,
	},
	{path: "controllers/admission", enters: []string{"api", "pkg/etcdutil"}, foreign: []string{"*"}},
	{path: "controllers/plan", enters: []string{"pkg/etcdutil"}, never: impure},
	{path: "controllers/plan/world", enters: []string{"controllers/plan", "pkg/etcdutil"}, never: impure},
	{path: "api", foreign: []string{"k8s.io/api/", "k8s.io/apimachinery/"}, never: clients},
	{path: "pkg/pki", never: append([]string{"go.etcd.io/"}, kubernetes...)},
	{
		path:    "pkg/etcdutil/fake",
		enters:  []string{"pkg/etcdutil", "pkg/etcdutil/client"},
		foreign: []string{"go.etcd.io/etcd/", "google.golang.org/grpc"},
		never:   kubernetes,
	},
	{
		path:    "pkg/etcdutil/client",
		enters:  []string{"pkg/etcdutil"},
		foreign: []string{"go.etcd.io/etcd/", "google.golang.org/grpc", "go.uber.org/zap"},
		never:   kubernetes,
	},
	{path: "pkg/etcdutil", never: impure},
	{
		path:    "cmd/agent",
		enters:  []string{"pkg/backup", "pkg/backup/store", "pkg/etcdutil"},
		foreign: []string{"golang.org/x/crypto/x509roots/fallback"},
		never:   kubernetes,
	},
	{
		path:    "pkg/backup",
		enters:  []string{"pkg/backup/store", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/pki"},
		foreign: []string{"go.etcd.io/", "google.golang.org/grpc", "google.golang.org/protobuf/", "go.uber.org/zap"},
		never:   kubernetes,
	},
	{path: "pkg/backup/store", foreign: []string{"*"}, never: kubernetes},
	{
		path: "test",
		enters: []string{
			"controllers", "controllers/observe", "controllers/apply", "controllers/report", "controllers/resources", "controllers/plan",
			"controllers/plan/world", "api", "pkg/pki", "pkg/etcdutil", "pkg/etcdutil/client", "pkg/etcdutil/fake",
		},
		foreign: []string{"*"},
	},
}

// notYet names the rooms of the table that no package has moved into. Remove one here when its first package appears.
var notYet []string
