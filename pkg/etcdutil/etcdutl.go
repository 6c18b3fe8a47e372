package etcdutil

import "strings"

// NoEtcdutl is what LacksEtcdutl means, and what a person can do about it: the beginning of a sentence and another one,
// without the last stop.
const NoEtcdutl = "the image of etcd has no etcdutl, which restores and proves backups. Name an image that has it in " +
	"spec.image of the EtcdCluster, such as etcd's own"

// LacksEtcdutl reports that no container was started because its image has no etcdutl, by what the runtime says. Both
// look where $PATH leads: runc in the words of Go (os/exec ErrNotFound), crun in its own
// (containers/crun:src/libcrun/container.c).
func LacksEtcdutl(said string) bool {
	return strings.Contains(said, `"etcdutl": executable file not found in $PATH`) ||
		strings.Contains(said, "executable file `etcdutl` not found in $PATH")
}
