package controlplane

import "strings"

const etcdURL = "http://127.0.0.1:2379"

// etcdArgs: what is in this etcd need not survive a crash of the machine, so it need not wait for the disk.
func (c ControlPlane) etcdArgs() []string {
	return []string{
		"--name=localkube",
		"--data-dir=" + c.File("etcd"),
		"--listen-client-urls=" + etcdURL,
		"--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=localkube=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--auto-compaction-mode=periodic",
		"--auto-compaction-retention=5m",
		"--log-level=warn",
	}
}

func (c ControlPlane) apiServerArgs() []string {
	return []string{
		"--advertise-address=" + c.Families[0].ControlPlane,
		"--secure-port=6443",
		"--etcd-servers=" + etcdURL,
		"--service-cluster-ip-range=" + strings.Join(c.Families.Services(), ","),
		"--client-ca-file=" + c.credential("ca", "crt"),
		"--tls-cert-file=" + c.credential("kube-apiserver", "crt"),
		"--tls-private-key-file=" + c.credential("kube-apiserver", "key"),
		"--kubelet-certificate-authority=" + c.credential("ca", "crt"),
		"--kubelet-client-certificate=" + c.credential("kube-apiserver-kubelet", "crt"),
		"--kubelet-client-key=" + c.credential("kube-apiserver-kubelet", "key"),
		"--requestheader-client-ca-file=" + c.credential("ca", "crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.credential("front-proxy-client", "crt"),
		"--proxy-client-key-file=" + c.credential("front-proxy-client", "key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc." + c.Domain,
		"--service-account-key-file=" + c.credential("service-accounts", "crt"),
		"--service-account-signing-key-file=" + c.credential("service-accounts", "key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--audit-policy-file=" + c.File("audit-policy.yaml"),
		"--audit-log-path=" + c.Paths.AuditLog(),
		"--audit-log-maxsize=2000",
		"--profiling=false",
		"--feature-gates=" + c.FeatureGates,
		"--runtime-config=" + c.RuntimeConfig,
	}
}

// controllerManagerArgs: there is one, so nobody has to be elected; each node brings its own range for Pods.
func (c ControlPlane) controllerManagerArgs() []string {
	kubeconfig := c.credential("kube-controller-manager", "kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--allocate-node-cidrs=false",
		"--use-service-account-credentials=true",
		"--root-ca-file=" + c.credential("ca", "crt"),
		"--service-account-private-key-file=" + c.credential("service-accounts", "key"),
		"--cluster-signing-cert-file=" + c.credential("ca", "crt"),
		"--cluster-signing-key-file=" + c.credential("ca", "key"),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
		"--feature-gates=" + c.FeatureGates,
	}
}

func (c ControlPlane) schedulerArgs() []string {
	kubeconfig := c.credential("kube-scheduler", "kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--profiling=false",
		"--feature-gates=" + c.FeatureGates,
	}
}
