{{/* Names and labels, as in the charts that `helm create` makes. */}}

{{- define "managed-by.name" -}}
{{- default "managed-by" .Values.nameOverride | trunc 50 | trimAll "-" -}}
{{- end }}

{{/*
The release name if it contains the chart's name, otherwise RELEASE-NAME. A CronJob's name has at most 52 characters, and the Service of a PolicyServer has no dots.
*/}}
{{- define "managed-by.fullname" -}}
{{- $name := include "managed-by.name" . -}}
{{- $release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $release .Values.fullnameOverride | replace "." "-" | trunc 45 | trimAll "-" -}}
{{- end }}

{{/*
The name of a policy, which depends on its PolicyServer and mode: include "managed-by.policyName" (list . "managed-by")

Kubewarden rejects changes of the PolicyServer, and of the mode from `protect` to `monitor`. If the name changes, Helm creates a new policy and deletes the
old one, during upgrades and rollbacks.
*/}}
{{- define "managed-by.policyName" -}}
{{- $root := index . 0 -}}
{{- index . 1 }}{{ include "managed-by.serverSuffix" $root }}{{ eq $root.Values.mode "monitor" | ternary "-monitor" "" -}}
{{- end }}

{{/* The webhook's failurePolicy. In mode `monitor`, an outage must not block writes, and with CEL, the API server enforces the rules itself. */}}
{{- define "managed-by.failurePolicy" -}}
{{- $auto := or (eq .Values.mode "monitor") .Values.cel.enabled | ternary "Ignore" "Fail" -}}
{{- eq .Values.failurePolicy "auto" | ternary $auto .Values.failurePolicy -}}
{{- end }}

{{/* The suffix of policy names for the PolicyServer: empty for `default`. */}}
{{- define "managed-by.serverSuffix" -}}
{{- $server := include "managed-by.policyServer" . -}}
{{- if and .Values.policyServer.create (not .Values.policyServer.name) -}}-own{{- else if ne $server "default" -}}-{{ $server }}{{- end -}}
{{- end }}

{{- define "managed-by.selectorLabels" -}}
app.kubernetes.io/name: {{ include "managed-by.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end }}

{{- define "managed-by.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "managed-by.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: (list . NAME [NAMESPACE]) */}}
{{- define "managed-by.metadata" -}}
name: {{ index . 1 | toYaml }}
{{- range slice . 2 }}
namespace: {{ toYaml . }}
{{- end }}
labels:
  {{- include "managed-by.labels" (index . 0) | nindent 2 }}
{{- end }}

{{/* Binds a ClusterRole to a service account: (list . NAME ACCOUNT NAMESPACE) */}}
{{- define "managed-by.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  {{- include "managed-by.metadata" (list (index . 0) (index . 1)) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 1 | toYaml }}
subjects:
  - kind: ServiceAccount
    name: {{ index . 2 | toYaml }}
    namespace: {{ index . 3 | toYaml }}
{{- end }}

{{/* The URL of a module: include "managed-by.module" (list . .Values.module) */}}
{{- define "managed-by.module" -}}
{{- $root := index . 0 -}}
{{- with index . 1 -}}
{{- $version := printf ":%s" (default (printf "v%s" $root.Chart.AppVersion) .tag) -}}
{{- if .digest -}}{{- $version = printf "@%s" .digest -}}{{- end -}}
{{- printf "registry://%s/%s%s" .registry .repository $version -}}
{{- end -}}
{{- end }}

{{/* The name of the PolicyServer: the one that the chart creates, or an existing one. */}}
{{- define "managed-by.policyServer" -}}
{{- default (.Values.policyServer.create | ternary (include "managed-by.fullname" .) "default") .Values.policyServer.name -}}
{{- end }}

{{/*
Excludes namespaces, so that an outage of PolicyServer does not block system namespaces. Without Kubewarden, its namespace is not excluded, because a tenant
could create it.
*/}}
{{- define "managed-by.namespaceSelector" -}}
{{- $excluded := .Values.excludedNamespaces -}}
{{- if or .Values.policy.enabled .Values.pods.enabled .Values.queues.enabled -}}{{- $excluded = append $excluded .Values.kubewardenNamespace -}}{{- end -}}
{{- if $excluded -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ uniq $excluded | toJson }}
{{- else -}}
{}
{{- end -}}
{{- end }}

{{/* The annotations of a policy. */}}
{{- define "managed-by.annotations" -}}
# For policy reports.
{{ merge (deepCopy .Values.commonAnnotations) (dict "io.kubewarden.policy.category" "Best practices" "io.kubewarden.policy.severity" "medium") | toYaml }}
{{- end }}

{{/*
Regular expressions for names in metrics, without the suffixes for the mode and of webhooks, as JSON: `policy`, and `both` with the pods policy.
Kubewarden's prefixes are different since 1.37.2.
*/}}
{{- define "managed-by.reportedNames" -}}
{{- $policy := printf "%s%s" (include "managed-by.fullname" .) (include "managed-by.serverSuffix" .) -}}
{{- $pods := printf "%s-pods%s" (include "managed-by.fullname" .) (include "managed-by.serverSuffix" .) -}}
{{- $policy = ternary (printf "(namespaced-%s-|kw[.]ap[.]%s[.])%s(-[a-z0-9-]+)?" .Release.Namespace .Release.Namespace $policy) (printf "(clusterwide-|kw[.]cap[.])%s" $policy) .Values.namespaced -}}
{{- if .Values.webhook.enabled -}}{{- $policy = include "managed-by.fullname" . -}}{{- end -}}
{{- dict "policy" $policy "both" (printf "(%s|(clusterwide-|kw[.]cap[.])%s)" $policy $pods) | toJson -}}
{{- end }}

{{/* A file with queries, for this release's names: include "managed-by.queries" (list . FILE) */}}
{{- define "managed-by.queries" -}}
{{- $root := index . 0 -}}
{{- $names := include "managed-by.reportedNames" $root | fromJson -}}
{{- $queries := $root.Files.Get (index . 1) -}}
{{- $queries = $queries | replace "(clusterwide-|kw[.]cap[.])managed-by(-pods)?" $names.both | replace "(clusterwide-|kw[.]cap[.])managed-by(" (printf "%s(" $names.policy) -}}
{{- if $root.Values.webhook.enabled -}}
{{- $queries = $queries | replace "[.]kubewarden[.]admission" "[.](kubewarden[.]admission|managed-by-policy[.]github[.]io)" -}}
{{- end -}}
{{- if $root.Values.namespaced -}}
{{- /* The API server counts the Jobs of all namespaces. */ -}}
{{- $queries = $queries | replace "sum(increase(apiserver_request_total{group=\"batch\", resource=\"jobs\", subresource=\"\", verb=\"POST\", code=\"201\"}[1h])) > 30"
  (printf "count(kube_job_created{namespace=%q} > time() - 3600) > 0" $root.Release.Namespace) -}}
{{- end -}}
{{- /* The chart's own Jobs in an hour, besides 18 others. */ -}}
{{- $jobs := 18 -}}
{{- range first (splitList " " $root.Values.statusReports.schedule) | splitList "," -}}
  {{- $parts := splitList "/" . -}}{{- $ends := first $parts | splitList "-" -}}{{- $width := sub (last $ends | int) (first $ends | int) | add 1 -}}
  {{- if or (has "*" $ends) (has "?" $ends) -}}{{- $width = 60 -}}{{- else if and (eq (len $ends) 1) (gt (len $parts) 1) -}}{{- $width = sub 60 (first $ends | int) -}}{{- end -}}
  {{- $step := append $parts "1" | rest | first | int -}}
  {{- $jobs = add $jobs (div (add $width $step -1) $step) -}}
{{- end -}}
{{- $queries = $queries | replace "[1h])) > 30" (printf "[1h])) > %d" $jobs) -}}
{{- $queries | replace "managed-by-deny" (printf "%s-deny" (include "managed-by.fullname" $root)) -}}
{{- end }}

{{/* The image of the PolicyServer to create. Default: the image of Kubewarden's PolicyServer `default`, because both must have the same release. */}}
{{- define "managed-by.policyServerImage" -}}
{{- $default := lookup "policies.kubewarden.io/v1" "PolicyServer" "" "default" -}}
{{- if .Values.policyServer.image -}}
{{- .Values.policyServer.image -}}
{{- else if $default -}}
{{- $default.spec.image -}}
{{- else -}}
{{- fail "\n\nvalues to set:\n- policyServer.image: the image of PolicyServer in Kubewarden's release, because there is no PolicyServer \"default\" to copy it from\n" -}}
{{- end -}}
{{- end }}
