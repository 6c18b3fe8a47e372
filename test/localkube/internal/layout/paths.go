package layout

import "path/filepath"

// StateDir holds all that a running localkube has on disk. `down` removes it whole.
const StateDir = "/var/lib/etcd-steward-localkube"

// CgroupName is the cgroup, in each hierarchy, under which every process of a localkube runs.
const CgroupName = "localkube"

// NetnsPrefix starts the name of every network namespace under /run/netns.
const NetnsPrefix = "localkube-"

// Paths names the files and directories under a state directory.
type Paths struct{ Root string }

// Default is where the one localkube of this machine lives.
func Default() Paths { return Paths{Root: StateDir} }

// State is the file that says what was asked of `up`.
func (p Paths) State() string { return filepath.Join(p.Root, "state.json") }

// Kubeconfig is the administrator's.
func (p Paths) Kubeconfig() string { return filepath.Join(p.Root, "kubeconfig") }

// AuditLog is the API server's, JSON lines.
func (p Paths) AuditLog() string { return filepath.Join(p.Root, "logs", ControlPlane, "audit.log") }

// PKI holds keys, certificates and the kubeconfigs of the components.
func (p Paths) PKI() string { return filepath.Join(p.Root, "pki") }

// PIDs holds one file for each daemon.
func (p Paths) PIDs() string { return filepath.Join(p.Root, "pids") }

// Archives holds the image archives that `load` was given, for nodes that were down then.
func (p Paths) Archives() string { return filepath.Join(p.Root, "archives") }

// Registry holds the layers of the images in the registry.
func (p Paths) Registry() string { return filepath.Join(p.Root, "registry") }

// Memory holds the disk of all data where that is kept in memory.
func (p Paths) Memory() string { return filepath.Join(p.Root, "memory") }

// Data is where that disk is mounted: what is written there is waited for.
func (p Paths) Data() string { return filepath.Join(p.Root, "data") }

// ResizerSocket is where the CSI driver answers the resizer.
func (p Paths) ResizerSocket() string { return filepath.Join(p.Root, "csi.sock") }

// ControlPlane holds the data of the control plane.
func (p Paths) ControlPlane() string { return filepath.Join(p.Data(), ControlPlane) }

// Log is where the output of a daemon on a host goes.
func (p Paths) Log(host, daemon string) string {
	return filepath.Join(p.Root, "logs", host, daemon+".log")
}

// Node returns the directories of one node.
func (p Paths) Node(name string) NodePaths {
	return NodePaths{Root: filepath.Join(p.Root, "nodes", name), data: filepath.Join(p.Data(), name)}
}

// NodePaths names the directories of one node. What a real node keeps in memory is under Run.
type NodePaths struct{ Root, data string }

// Run is what the node sees as /run; a reboot empties it.
func (n NodePaths) Run() string { return filepath.Join(n.Root, "run") }

// Containerd is containerd's root: images, snapshots, and its memory of containers.
func (n NodePaths) Containerd() string { return filepath.Join(n.Root, "containerd") }

// ContainerdState is containerd's state directory, as seen from outside the node.
func (n NodePaths) ContainerdState() string { return filepath.Join(n.Run(), "containerd") }

// ContainerdSocket is containerd's socket, as seen from outside the node.
func (n NodePaths) ContainerdSocket() string {
	return filepath.Join(n.ContainerdState(), "containerd.sock")
}

// Kubelet is the kubelet's root directory; emptyDirs are in it.
func (n NodePaths) Kubelet() string { return filepath.Join(n.data, "kubelet") }

// Volumes is where the provisioner makes the local-path volumes of this node, one directory each.
func (n NodePaths) Volumes() string { return filepath.Join(n.data, "volumes") }

// Expandable is where the CSI driver makes the volumes of this node, one directory each.
func (n NodePaths) Expandable() string { return filepath.Join(n.data, "expandable") }

// PodLogs is where the kubelet keeps the logs of containers.
func (n NodePaths) PodLogs() string { return filepath.Join(n.Root, "pod-logs") }

// Config is a configuration file of the node.
func (n NodePaths) Config(name string) string { return filepath.Join(n.Root, "etc", name) }

// Imported holds an empty file for each archive that the node's containerd has.
func (n NodePaths) Imported() string { return filepath.Join(n.Root, "imported") }

// Logs holds a directory for each host.
func (p Paths) Logs() string { return filepath.Join(p.Root, "logs") }
