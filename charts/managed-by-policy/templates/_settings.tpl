{{/* The newest Kubernetes release that the policy supports. */}}
{{- define "managed-by.newestRelease" -}}{{- (include "managed-by.library" . | fromJson).newestRelease -}}{{- end }}

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
{{- if le (int $version.Minor) (int $newest.Minor) -}}{{- printf "%d.%d.%d" $version.Major $version.Minor $version.Patch -}}{{- end -}}
{{- end -}}
{{- end }}

{{/* Describes the release whose rules apply: (list . VERSION), where VERSION is the setting `kubernetes_version`. */}}
{{- define "managed-by.describeVersion" -}}
{{- $version := index . 1 -}}
{{- if $version -}}
{{- $semver := semver $version -}}
{{- $patch := regexMatch "[.].*[.]" $version | ternary (int $semver.Patch) 1000 -}}
{{- $release := dict -}}
{{- $releases := (include "managed-by.library" (index . 0) | fromJson).releases -}}
{{- $newest := last $releases -}}
{{- range $releases -}}
  {{- $known := semver .newestPatch -}}
  {{- if eq (int $known.Minor) (int $semver.Minor) -}}
    {{- $newest = . -}}
    {{- if and (not $release) (le $patch (int $known.Patch)) -}}{{- $release = . -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- $version -}}
{{- if $release -}}{{- printf ", with the rules of %s" $release.name -}}
{{- else -}}{{- printf ", with the rules of %s, the newest known patch release" $newest.newestPatch -}}{{- end -}}
{{- else -}}
no release, so a Job status is denied only if every release denies it
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
{{- range (index . 1).projects -}}{{- if .isMultiKueue -}}{{- $writers = .writers -}}{{- end -}}{{- end -}}
{{- $writers | toJson -}}
{{- end }}

{{/*
The setting `controllers`, unless it is `none`. If Kueue is installed and workloads may be delegated, MultiKueue is listed, unless its entry or the whole value is null. If it has no
writers, Kueue's service accounts are added.
*/}}
{{- define "managed-by.controllers" -}}
{{- $values := (index . 0).Values -}}
{{- $controllers := deepCopy (default dict $values.controllers) -}}
{{- $kueue := include "managed-by.kueueWriters" . | fromJsonArray -}}
{{- $multikueue := (include "managed-by.library" (index . 0) | fromJson).multiKueue -}}
{{- $isRemoved := and (hasKey $controllers $multikueue) (kindIs "invalid" (get $controllers $multikueue)) -}}
{{- range $name, $entry := $controllers -}}{{- if kindIs "invalid" $entry -}}{{- $_ := unset $controllers $name -}}{{- end -}}{{- end -}}
{{- if and $kueue (ne $values.role "worker") (hasKey $values "controllers") -}}
  {{- $entry := dig $multikueue dict $controllers -}}
  {{- if not $isRemoved -}}
    {{- if not (kindIs "map" $entry) -}}{{- $entry = dict -}}{{- end -}}
    {{- $_ := set $controllers $multikueue (merge $entry (dict "status_writers" $kueue)) -}}
  {{- end -}}
{{- end -}}
{{- $controllers | toJson -}}
{{- end }}

{{/*
The setting `namespaces`. Delegation is forbidden in Kueue's namespace, so that workloads that Kueue needs run in this cluster, unless an entry matches the
namespace or the value is null.
*/}}
{{- define "managed-by.namespaces" -}}
{{- $values := (index . 0).Values -}}
{{- $namespaces := default list $values.namespaces -}}
{{- $match := list -}}
{{- if and (hasKey $values "namespaces") (ne $values.role "worker") -}}
  {{- range include "managed-by.kueueWriters" . | fromJsonArray -}}
    {{- if hasPrefix "system:serviceaccount:" . -}}
      {{- $namespace := index (splitList ":" .) 2 -}}
      {{- if not (include "managed-by.matchingEntry" (list $namespace $namespaces)) -}}{{- $match = append $match $namespace -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $match -}}{{- $namespaces = append $namespaces (dict "match" (uniq $match) "delegation" "forbidden") -}}{{- end -}}
{{- concat (include "managed-by.ownNamespaces" (index . 0) | fromJsonArray) $namespaces | toJson -}}
{{- end }}

{{/* An entry of `namespaces` that lets the Jobs of the chart's own CronJob run in this cluster. It needs their label, and only applies if the policy checks the release's namespace. */}}
{{- define "managed-by.ownNamespaces" -}}
{{- $own := list -}}
{{- $isRequired := eq .Values.role "management" -}}
{{- range default list .Values.namespaces -}}{{- if eq (toString .delegation) "required" -}}{{- $isRequired = true -}}{{- end -}}{{- end -}}
{{- if and .Values.statusReports.enabled $isRequired (not (contains (quote .Release.Namespace) (include "managed-by.namespaceSelector" .))) -}}
  {{- $own = append $own (dict "match" (list .Release.Namespace) "matchLabels" (include "managed-by.selectorLabels" . | fromYaml) "delegation" "allowed") -}}
{{- end -}}
{{- $own | toJson -}}
{{- end }}

{{/* The index of the first entry that matches all objects in a namespace, or in the namespaces of a pattern; empty if there is none: (list NAME ENTRIES) */}}
{{- define "managed-by.matchingEntry" -}}
{{- $name := index . 0 -}}
{{- range $index, $entry := index . 1 -}}
  {{- if not .matchLabels -}}
    {{- range .match -}}
      {{- if regexMatch (printf "^%s$" (replace "*" "[a-z0-9*-]*" .)) $name -}}{{- $index }} {{ end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
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
