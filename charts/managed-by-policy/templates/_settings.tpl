{{/* The newest Kubernetes release that the policy supports. */}}
{{- define "managed-by.newestRelease" -}}{{- (include "managed-by.library" . | fromYaml).newestRelease -}}{{- end }}

{{/*
The setting `kubernetes_version`, or an empty string to leave it unset. It is unset for a release that is newer than the policy, because the policy rejects
unsupported releases.
*/}}
{{- define "managed-by.kubernetesVersion" -}}
{{- if ne .Values.kubernetesVersion "auto" -}}
{{- .Values.kubernetesVersion -}}
{{- else -}}
{{- $version := semver .Capabilities.KubeVersion.Version -}}
{{- $newest := semver (include "managed-by.newestRelease" .) -}}
{{- if le (int $version.Minor) (int $newest.Minor) -}}{{- printf "%d.%d" $version.Major $version.Minor -}}{{- end -}}
{{- end -}}
{{- end }}

{{/* The settings of the policy, as YAML: (list . CLUSTER), where CLUSTER is the result of "managed-by.projects". */}}
{{- define "managed-by.settings" -}}
{{- $root := index . 0 -}}
{{- $cluster := index . 1 -}}
{{- $values := $root.Values -}}
{{- $settings := deepCopy (default dict $values.settings) -}}
{{- $_ := set $settings "role" $values.role -}}
{{- with include "managed-by.kubernetesVersion" $root -}}{{- $_ := set $settings "kubernetes_version" . -}}{{- end -}}
{{- if kindIs "string" $values.controllers -}}{{- $_ := set $settings "controllers" $values.controllers -}}
{{- else -}}{{- with include "managed-by.controllers" . | fromJson -}}{{- $_ := set $settings "controllers" . -}}{{- end -}}{{- end -}}
{{- with include "managed-by.namespaces" . | fromJsonArray -}}{{- $_ := set $settings "namespaces" . -}}{{- end -}}
{{- with $values.exempt -}}{{- $_ := set $settings "exempt" . -}}{{- end -}}
{{- with include "managed-by.builtinWriters" . | fromJson -}}{{- $_ := set $settings "builtin_status_writers" . -}}{{- end -}}
{{- toYaml $settings -}}
{{- end }}

{{/* Kueue's service accounts, which write the status of workloads that are delegated to MultiKueue: (list . CLUSTER) */}}
{{- define "managed-by.kueueWriters" -}}
{{- $writers := list -}}
{{- range (index . 1).projects -}}{{- if eq .name "kueue" -}}{{- $writers = .writers -}}{{- end -}}{{- end -}}
{{- $writers | toJson -}}
{{- end }}

{{/*
The setting `controllers`, unless it is `none`. If Kueue is installed and workloads may be delegated, an empty value lists MultiKueue. If MultiKueue has no
writers, Kueue's service accounts are added.
*/}}
{{- define "managed-by.controllers" -}}
{{- $values := (index . 0).Values -}}
{{- $controllers := deepCopy (default dict $values.controllers) -}}
{{- $kueue := include "managed-by.kueueWriters" . | fromJsonArray -}}
{{- $multikueue := (include "managed-by.library" (index . 0) | fromYaml).multiKueue -}}
{{- if and $kueue (ne $values.role "worker") -}}
  {{- if empty $controllers -}}{{- $_ := set $controllers $multikueue dict -}}{{- end -}}
  {{- if hasKey $controllers $multikueue -}}
    {{- $entry := index $controllers $multikueue -}}
    {{- if not (kindIs "map" $entry) -}}{{- $entry = dict -}}{{- end -}}
    {{- $_ := set $controllers $multikueue (merge $entry (dict "status_writers" $kueue)) -}}
  {{- end -}}
{{- end -}}
{{- $controllers | toJson -}}
{{- end }}

{{/* The setting `namespaces`. An empty value forbids delegation in Kueue's namespace, so that workloads that Kueue needs run in this cluster. */}}
{{- define "managed-by.namespaces" -}}
{{- $values := (index . 0).Values -}}
{{- $namespaces := $values.namespaces -}}
{{- if and (empty $namespaces) (ne $values.role "worker") -}}
  {{- $match := list -}}
  {{- range include "managed-by.kueueWriters" . | fromJsonArray -}}
    {{- if hasPrefix "system:serviceaccount:" . -}}{{- $match = append $match (index (splitList ":" .) 2) -}}{{- end -}}
  {{- end -}}
  {{- if $match -}}{{- $namespaces = list (dict "match" (uniq $match) "delegation" "forbidden") -}}{{- end -}}
{{- end -}}
{{- $namespaces | toJson -}}
{{- end }}

{{/*
The setting `builtin_status_writers`: for each kind, the controllers of its own project and all others that write its status, and the writers in
the value `settings`.
*/}}
{{- define "managed-by.builtinWriters" -}}
{{- $root := index . 0 -}}
{{- $cluster := index . 1 -}}
{{- $all := deepCopy (default dict (default dict $root.Values.settings).builtin_status_writers) -}}
{{- if include "managed-by.listsWriters" $root -}}
  {{- range $project := $cluster.projects -}}
    {{- range $project.kinds -}}
      {{- if .status -}}
        {{- $kind := .kind -}}
        {{- $writers := $project.writers -}}
        {{- range $cluster.projects -}}
          {{- if has $kind .writesStatusOf -}}{{- $writers = concat $writers .writers -}}{{- end -}}
        {{- end -}}
        {{- $_ := set $all $kind (concat (default list (index $all $kind)) $writers | uniq) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $all | toJson -}}
{{- end }}
