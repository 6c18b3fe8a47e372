package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/admission"
)

// acceptedSidecars is all that may be said of sidecars.
const acceptedSidecars = `spec: {pod: {sidecars: [
  {name: shipper, image: "registry.example.com/shipper:1.2", imagePullPolicy: Always, command: [/shipper], args: [--follow, "$(NODE)"],
   env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: LEVEL, value: debug}, {name: EMPTY},
     {name: TOKEN, valueFrom: {secretKeyRef: {name: shipper, key: token}}}, {name: ZONE, valueFrom: {configMapKeyRef: {name: where, key: zone.txt}}}],
   ports: [{name: http, containerPort: 8080}, {containerPort: 8125, protocol: UDP}],
   resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 64Mi}},
   readinessProbe: {httpGet: {path: /ready, port: 8080, scheme: HTTPS}, initialDelaySeconds: 1, periodSeconds: 5, timeoutSeconds: 2, failureThreshold: 1},
   livenessProbe: {exec: {command: [/shipper, check]}},
   mounts: [{mountPath: /tmp, emptyDir: {}}, {mountPath: /cache, emptyDir: {medium: Memory, sizeLimit: 64Mi}}, {mountPath: /conf, configMap: {name: shipper}},
     {mountPath: /keys, secret: {name: shipper.keys}}, {mountPath: /etcd, clientCertificate: {}}]},
  {name: "2", image: pause, livenessProbe: {tcpSocket: {port: 1}},
   securityContext: {runAsUser: 1000, readOnlyRootFilesystem: false}}]}}`

// besideEtcd is a change that asks for one sidecar with these fields.
func besideEtcd(fields string) string {
	return "spec: {pod: {sidecars: [{name: shipper, image: shipper, " + fields + "}]}}"
}

const restricted = ": sidecars are held to Pod Security restricted"

var refusedSidecars = []refusal{
	{"a sidecar of etcd's name", "spec: {pod: {sidecars: [{name: etcd, image: x}]}}", "spec.pod.sidecars[0].name",
		`spec.pod.sidecars.name is "etcd"; it must be lower-case letters, digits and "-", and not etcd, which is the container of the member`, ""},
	{"a sidecar whose name has capitals", "spec: {pod: {sidecars: [{name: Shipper, image: x}]}}", "spec.pod.sidecars[0].name", `spec.pod.sidecars.name is "Shipper"; it must be`, ""},
	{"a sidecar with a long name", "spec: {pod: {sidecars: [{name: " + strings.Repeat("a", 41) + ", image: x}]}}", "spec.pod.sidecars[0].name", "may not be more than 40 bytes", ""},
	{"two sidecars of one name", "spec: {pod: {sidecars: [{name: a, image: x}, {name: a, image: y}]}}", "spec.pod.sidecars[1]", "Duplicate value",
		""},
	{"five sidecars", "spec: {pod: {sidecars: [{name: a, image: x}, {name: b, image: x}, {name: c, image: x}, {name: d, image: x}, {name: e, image: x}]}}",
		"spec.pod.sidecars", "must have at most 4 items", ""},
	{"a sidecar without an image", "spec: {pod: {sidecars: [{name: a, image: ''}]}}", "spec.pod.sidecars[0].image", `spec.pod.sidecars.image is ""; it must be the name of an image, without spaces`, ""},
	{"a pull policy of a sidecar that does not exist", besideEtcd("imagePullPolicy: Sometimes"), "spec.pod.sidecars[0].imagePullPolicy",
		`supported values: "Always", "IfNotPresent", "Never"`, ""},
	{"a sidecar that mounts the disk of its node", besideEtcd("mounts: [{mountPath: /host}]"), "spec.pod.sidecars[0].mounts[0]",
		"spec.pod.sidecars.mounts must each have one of emptyDir, configMap, secret and clientCertificate; no other volume is mounted, neither a hostPath nor the data of etcd", ""},
	{"a mount of two kinds", besideEtcd("mounts: [{mountPath: /a, emptyDir: {}, secret: {name: a}}]"), "spec.pod.sidecars[0].mounts[0]", "spec.pod.sidecars.mounts must each have one of", ""},
	{"a mount at no absolute path", besideEtcd("mounts: [{mountPath: a, emptyDir: {}}]"), "spec.pod.sidecars[0].mounts[0].mountPath",
		`spec.pod.sidecars.mounts.mountPath is "a"; it must be an absolute path without ":", and not /`, ""},
	{"two mounts at one path", besideEtcd("mounts: [{mountPath: /a, emptyDir: {}}, {mountPath: /a, emptyDir: {}}]"), "spec.pod.sidecars[0].mounts[1]", "Duplicate value",
		""},
	{"a mount of a Secret that cannot be a name", besideEtcd("mounts: [{mountPath: /a, secret: {name: A_b}}]"), "spec.pod.sidecars[0].mounts[0].secret.name", "should match",
		""},
	{"a mount of a ConfigMap that cannot be a name", besideEtcd("mounts: [{mountPath: /a, configMap: {name: ''}}]"), "spec.pod.sidecars[0].mounts[0].configMap.name", "should match",
		""},
	{"a medium of a sidecar that does not exist", besideEtcd("mounts: [{mountPath: /a, emptyDir: {medium: HugePages}}]"), "spec.pod.sidecars[0].mounts[0].emptyDir.medium",
		`supported values: "", "Memory"`, ""},
	{"a negative size of a directory", besideEtcd("mounts: [{mountPath: /a, emptyDir: {sizeLimit: -1Gi}}]"), "spec.pod.sidecars[0].mounts[0].emptyDir.sizeLimit", "",
		`spec.pod.sidecars[0].mounts[0].emptyDir.sizeLimit is "-1Gi"; it must be a quantity that is not negative, such as 64Mi`},
	{"a readiness probe of two kinds", besideEtcd("readinessProbe: {tcpSocket: {port: 1}, httpGet: {port: 1}}"), "spec.pod.sidecars[0].readinessProbe",
		"spec.pod.sidecars.readinessProbe must have one of httpGet, tcpSocket and exec", ""},
	{"a liveness probe of no kind", besideEtcd("livenessProbe: {periodSeconds: 1}"), "spec.pod.sidecars[0].livenessProbe",
		"spec.pod.sidecars.livenessProbe must have one of httpGet, tcpSocket and exec", ""},
	{"a probe at a port that is none", besideEtcd("livenessProbe: {tcpSocket: {port: 65536}}"), "spec.pod.sidecars[0].livenessProbe.tcpSocket.port", "less than or equal to 65535",
		""},
	{"a probe with a period below zero", besideEtcd("readinessProbe: {exec: {command: [a]}, periodSeconds: -1}"), "spec.pod.sidecars[0].readinessProbe.periodSeconds",
		"greater than or equal to 1", ""},
	{"a port of etcd", besideEtcd("ports: [{containerPort: 2379}]"), "spec.pod.sidecars[0].ports[0].containerPort",
		"spec.pod.sidecars.ports.containerPort is 2379; it must be from 1 to 65535, and not 2379, 2380 or 2381, which are the ports of etcd", ""},
	{"a port that is none", besideEtcd("ports: [{containerPort: 0}]"), "spec.pod.sidecars[0].ports[0].containerPort", "spec.pod.sidecars.ports.containerPort is 0; it must be", ""},
	{"the name of a port of etcd", besideEtcd("ports: [{name: client, containerPort: 80}]"), "spec.pod.sidecars[0].ports[0].name",
		`spec.pod.sidecars.ports.name is "client"; it must be lower-case letters, digits and "-", and not client, peer or metrics, which are the names of the ports of etcd`, ""},
	{"a name of a port without a letter", besideEtcd("ports: [{name: '80', containerPort: 80}]"), "spec.pod.sidecars[0].ports[0].name", "",
		`spec.pod.sidecars[0].ports[0].name is "80"; it must contain at least one letter`},
	{"one port of two sidecars", "spec: {pod: {sidecars: [{name: a, image: x, ports: [{containerPort: 80}]}, {name: b, image: x, ports: [{containerPort: 80}]}]}}",
		"spec.pod.sidecars[1].ports[0]", "", "spec.pod.sidecars[1].ports[0] is 80/TCP, as an earlier one; containers of a Pod share its ports"},
	{"a protocol that does not exist", besideEtcd("ports: [{containerPort: 80, protocol: SCTP}]"), "spec.pod.sidecars[0].ports[0].protocol", `supported values: "TCP", "UDP"`,
		""},
	{"a variable of a sidecar whose name is none", besideEtcd("env: [{name: '1=2'}]"), "spec.pod.sidecars[0].env[0].name",
		`spec.pod.sidecars.env.name is "1=2"; it must be letters, digits, "_", "-" and ".", not starting with a digit`, ""},
	{"a variable with two values", besideEtcd("env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), "spec.pod.sidecars[0].env[0].valueFrom",
		"spec.pod.sidecars.env must have value or valueFrom, not both", ""},
	{"a variable from nowhere", besideEtcd("env: [{name: A, valueFrom: {}}]"), "spec.pod.sidecars[0].env[0].valueFrom",
		"spec.pod.sidecars.env.valueFrom must have one of fieldRef, secretKeyRef and configMapKeyRef", ""},
	{"a variable from a field that does not exist", besideEtcd("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.x}}}]"), "spec.pod.sidecars[0].env[0].valueFrom.fieldRef.fieldPath",
		"supported values", ""},
	{"two variables of one name", besideEtcd("env: [{name: A}, {name: A}]"), "spec.pod.sidecars[0].env[1]", "Duplicate value",
		""},
	{"a sidecar that asks for more than it may use", besideEtcd("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"), "spec.pod.sidecars[0].resources.requests[cpu]", "",
		"spec.pod.sidecars[0].resources.requests.cpu is 2; it must be at most the limit, which is 1"},
	{"a sidecar that is root", besideEtcd("securityContext: {runAsUser: 0}"), "spec.pod.sidecars[0].securityContext.runAsUser",
		"spec.pod.sidecars.securityContext.runAsUser must be above 0" + restricted + ", and 0 is root", ""},
}

// A server names such fields to all who ask for strict validation, as kubectl does, and drops them for others. The Pod is
// the same without them: etcd waits for no sidecar, and each is held to Pod Security restricted.
func TestWhatNoContainerMayHaveIsAnUnknownField(t *testing.T) {
	g := newGate(t)
	for field, change := range map[string]string{
		"spec.pod.sidecars[0].startupProbe":                             besideEtcd("startupProbe: {tcpSocket: {port: 1}}"),
		"spec.pod.sidecars[0].volumeMounts":                             besideEtcd("volumeMounts: [{name: data}]"),
		"spec.pod.sidecars[0].ports[0].hostPort":                        besideEtcd("ports: [{containerPort: 80, hostPort: 80}]"),
		"spec.pod.sidecars[0].securityContext.privileged":               besideEtcd("securityContext: {privileged: true}"),
		"spec.pod.sidecars[0].securityContext.allowPrivilegeEscalation": besideEtcd("securityContext: {allowPrivilegeEscalation: true}"),
		"spec.pod.sidecars[0].securityContext.runAsNonRoot":             besideEtcd("securityContext: {runAsNonRoot: false}"),
		"spec.pod.sidecars[0].securityContext.capabilities":             besideEtcd("securityContext: {capabilities: {add: [NET_ADMIN]}}"),
		"spec.pod.sidecars[0].resources.claims":                         besideEtcd("resources: {claims: [{name: gpu}]}"),
		"spec.pod.resources.claims":                                     "spec: {pod: {resources: {claims: [{name: gpu}]}}}",
		"spec.tasks.resources.claims":                                   "spec: {tasks: {resources: {claims: [{name: gpu}]}}}",
		"spec.tasks.env[0].valueFrom":                                   "spec: {tasks: {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}}",
	} {
		if got := g.unknown(cluster(t, change)); !slices.Equal(got, []string{field}) {
			t.Errorf("%s: unknown are %q", field, got)
		}
	}
}

func TestASidecarMountsNoCertificateOfAClusterWithoutTLS(t *testing.T) {
	const mount = "mounts: [{mountPath: /a, clientCertificate: {}}]"
	without := typed(t, cluster(t, besideEtcd(mount), "spec: {tls: {mode: Disabled}}"))
	saysOnce(t, "the operator", admission.Validate(without), "spec.pod.sidecars[0].mounts[0].clientCertificate",
		"spec.pod.sidecars[0].mounts[0].clientCertificate is set while spec.tls.mode is Disabled: there is no certificate; take the mount away")
	if errs := admission.Validate(typed(t, cluster(t, besideEtcd(mount)))); len(errs) > 0 {
		t.Errorf("with TLS: %v", errs.ToAggregate())
	}
}
