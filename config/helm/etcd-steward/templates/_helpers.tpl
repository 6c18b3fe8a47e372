{{/* Names of objects begin with it. The longest of a Service has 63 characters. */}}
{{- define "etcd-steward.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 36 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 23 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end }}

{{/* Names of objects that lie in no namespace: an operator of some namespaces is not the only one of its name. */}}
{{- define "etcd-steward.clusterFullname" -}}
{{- include "etcd-steward.fullname" . -}}{{- if .Values.watchNamespaces -}}-{{ .Release.Namespace }}{{- end -}}
{{- end }}

{{- define "etcd-steward.selectorLabels" -}}
app.kubernetes.io/name: etcd-steward
control-plane: controller-manager
{{- end }}

{{- define "etcd-steward.labels" -}}
app.kubernetes.io/name: etcd-steward
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "etcd-steward.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "etcd-steward.fullname" .)) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{- define "etcd-steward.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "etcd-steward.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "etcd-steward.image" -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Each of these is the text "true" or empty. A value that is auto needs rights outside namespaces. */}}
{{- define "etcd-steward.isOn" -}}
{{- $value := toString (index . 1) -}}
{{- if or (eq $value "true") (and (eq $value "auto") (not (index . 0).Values.watchNamespaces)) -}}true{{- end -}}
{{- end }}

{{- define "etcd-steward.servesMetrics" -}}
{{- include "etcd-steward.isOn" (list . .Values.metrics.enabled) -}}
{{- end }}

{{- define "etcd-steward.platformChoosesIDs" -}}
{{- $value := toString .Values.platformIDs -}}
{{- $isOpenShift := .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- if or (eq $value "true") (and (eq $value "auto") $isOpenShift) -}}true{{- end -}}
{{- end }}

{{/* Nine tenths of the memory limit: the operator collects harder before the kernel ends its process. */}}
{{- define "etcd-steward.memoryLimit" -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $limit := toString . -}}
{{- $unit := regexFind "[A-Za-z]*$" $limit -}}
{{- divf (mulf (trimSuffix $unit $limit | float64) (get $bytes $unit) 0.9) 1048576 | floor | int64 -}}MiB
{{- end }}

{{/* Flags that the chart sets, because each takes more than the flag. */}}
{{- define "etcd-steward.checkArgs" -}}
{{- $values := dict "namespace" "watchNamespaces" "cluster-domain" "clusterDomain" "platform-ids" "platformIDs" "webhook" "webhook.enabled" "metrics-secure"
  "metrics.enabled" "metrics-bind-address" "metrics.enabled" "leader-elect" "replicas" "otlp-endpoint" "tracing.endpoint"
  "etcd-repository" "etcd.repository" "etcd-digest" "etcd.digests" "image-pull-secret" "etcd.pullSecrets" -}}
{{- $fixed := list "health-probe-bind-address" "version" -}}
{{- range .Values.extraArgs -}}
{{- $flag := . | trimPrefix "-" | trimPrefix "-" | splitList "=" | first -}}
{{- with get $values $flag -}}
{{- fail (printf "extraArgs has --%s, which the chart sets. Take it out: the value %s governs it." $flag .) -}}
{{- end -}}
{{- if has $flag $fixed -}}
{{- fail (printf "extraArgs has --%s, with which no replica would become ready. Take it out." $flag) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What stands in the namespace already. `helm template` asks no Kubernetes, and sees nothing there. */}}
{{- define "etcd-steward.checkNamespace" -}}
{{- $own := printf "%s-controller-manager" (include "etcd-steward.fullname" .) -}}
{{- range (lookup "apps/v1" "Deployment" .Release.Namespace "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- if eq (get $labels "app.kubernetes.io/name") "etcd-steward" -}}
{{- if and (ne $release $.Release.Name) (ne .metadata.name $own) -}}
{{- fail (printf "The Deployment %s in the namespace %s is another install of etcd-steward. Two in one namespace share a Lease, so one of them would look after nothing. Install this release into a namespace of its own, or list all namespaces in watchNamespaces of the other one." .metadata.name $.Release.Namespace) -}}
{{- end -}}
{{- if and (eq $release $.Release.Name) (not $.Values.crds.install) (get $annotations "etcdsteward.dev/definitions-go") -}}
{{- fail "crds.install is false, and this release has the custom resource definitions with crds.keep=false. Helm would delete them, and every EtcdCluster with them. Upgrade with crds.install=true and crds.keep=true first, and then with crds.install=false." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
