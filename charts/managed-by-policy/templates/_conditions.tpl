{{/* The rules of the webhook: (list KINDS). Status updates have separate rules, because the audit scanner lists all resources in rules with CREATE. */}}
{{- define "managed-by.rules" -}}
{{- range index . 0 }}
- apiGroups: [{{ .group | quote }}]
  apiVersions: {{ .versions | toJson }}
  resources: [{{ .plural | quote }}]
  operations: ["CREATE", "UPDATE"]
{{- if .status }}
- apiGroups: [{{ .group | quote }}]
  apiVersions: {{ .versions | toJson }}
  resources: ["{{ .plural }}/status"]
  operations: ["UPDATE"]
{{- end }}
{{- end }}
{{- end }}

{{/* The value of Kubewarden's chart with which Kubewarden 1.38 deploys the policy in a namespace: (list KINDS) */}}
{{- define "managed-by.allowedResources" -}}
namespacedPoliciesAllowedResources:
{{- range index . 0 }}
  - {apiGroups: [{{ .group | quote }}], resources: [{{ .plural | quote }}]}
{{- end }}
{{- end }}

{{/*
A CEL expression for the optional value in a root at `path`, a list of names. Schemas may accept any type, and selecting a member of a value that is not an
object is an error. The value is that value `v` then, so that a user who replaces `spec` by a list changes `managedBy`; or another one: (list ROOT [OTHER])
*/}}
{{- define "managed-by.celValue" -}}
{{- $other := append . "v" | rest | first -}}
[optional.of(dyn({{ index . 0 }}))]{{ range until 6 }}.map(v, path.size() <= {{ . }} ? v : type(v.orValue(null)) == map ? v[?path[{{ . }}]] : {{ $other }}){{ end }}[0]
{{- end }}

{{/* A CEL expression for a value by kind: (list VALUES DEFAULT), where the keys of VALUES are GROUP/KIND */}}
{{- define "managed-by.celByKind" -}}
{{ toJson (index . 0) }}[?(request.kind.group + "/" + request.kind.kind)].orValue({{ toJson (index . 1) }})
{{- end }}

{{/* CEL expressions, one per version, that are true for requests in a version whose schema lacks the field: (list KINDS) */}}
{{- define "managed-by.prunedVersions" -}}
{{- $lines := list -}}
{{- range $kind := index . 0 -}}
  {{- range .versions -}}
    {{- if has . (default list $kind.pruned) -}}
      {{- $lines = append $lines (printf "request.requestKind.group == %q && request.requestKind.version == %q" $kind.group .) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $lines | uniq | toJson -}}
{{- end }}

{{/*
The condition for updates: true if `managedBy` changes, in the object or in a template, and for versions that lack the field. True for all other requests.
(list KINDS)

Removing a value of a wrong type is no change, so that users can repair such an object. Lists of templates are compared first, because most updates don't change
them. Reading the field in each of 60,000 elements takes seconds, so every change of a long list counts.
*/}}
{{- define "managed-by.fieldChanges" -}}
{{- $paths := dict -}}{{- $lists := dict -}}
{{- range $kind := index . 0 -}}
  {{- $name := printf "%s/%s" .group .kind -}}
  {{- range prepend (default list .templates) (default "spec.managedBy" .path) -}}
    {{- if contains "[]." . -}}
      {{- $pair := list -}}{{- range splitList "[]." . -}}{{- $pair = append $pair (splitList "." .) -}}{{- end -}}
      {{- $_ := set $lists $name (append (default list (get $lists $name)) $pair | uniq) -}}
    {{- else -}}
      {{- $_ := set $paths $name (append (default list (get $paths $name)) (splitList "." .) | uniq) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $default := list (list "spec" "managedBy") -}}
{{- range $name, $own := $paths -}}{{- if eq (toJson $own) (toJson $default) -}}{{- $_ := unset $paths $name -}}{{- end -}}{{- end -}}
request.operation != "UPDATE" || has(request.subResource) ||
{{- range include "managed-by.prunedVersions" . | fromJsonArray }}
{{ . }} ||
{{- end }}
{{ include "managed-by.celByKind" (list $paths $default) }}.exists(path,
  [[object, oldObject].map(root, {{ include "managed-by.celValue" (list "root") }})].exists(values,
    values[0] != values[1] && (values[0].hasValue() || type(values[1].orValue(null)) == string)))
{{- if $lists }} ||
{{ include "managed-by.celByKind" (list $lists list) }}.exists(paths,
  [[object, oldObject].map(root, [paths[0]].map(path, {{ include "managed-by.celValue" (list "root") }})[0])].exists(values,
    values[0] != values[1] && (type(values[0].orValue([])) != list ||
      [values.map(v, type(v.orValue(null)) == list ? v.value() : [])].exists(lists, lists.exists(list, list.size() > 1000) ||
        [lists.map(list, list.map(item, [paths[1]].map(path, {{ include "managed-by.celValue" (list "item") }})[0]))].exists(items, items[0] != items[1])))))
{{- end }}
{{- end }}

{{/*
The condition for status updates: true for delegated objects, for all objects of the kinds in `builtin_status_writers`, and for versions that lack the field.
True for requests to the main resource. (list KINDS SETTINGS)
*/}}
{{- define "managed-by.statusUpdateChecked" -}}
{{- $lines := include "managed-by.prunedVersions" . | fromJsonArray -}}
{{- with (index . 1).builtin_status_writers -}}
  {{- $lines = append $lines (printf "request.kind.kind in %s" (keys . | sortAlpha | toJson)) -}}
{{- end -}}
{{- $reserved := dict -}}{{- $paths := dict -}}
{{- range $kind := index . 0 -}}
  {{- if .status -}}
    {{- if ne (default "spec.managedBy" .path) "spec.managedBy" -}}{{- $_ := set $paths (printf "%s/%s" .group .kind) (splitList "." .path) -}}{{- end -}}
    {{- range .versions -}}
      {{- if $kind.reservedValue -}}{{- $_ := set $reserved (printf "%s/%s" $kind.group .) $kind.reservedValue -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
!has(request.subResource) || request.subResource == "status" && (
{{- range $lines }}
  {{ . }} ||
{{- end }}
  [{{ include "managed-by.celByKind" (list $paths (list "spec" "managedBy")) }}].map(path,
    {{ include "managed-by.celValue" (list "oldObject") }}).exists(name,
    name.hasValue() && name != {{ toJson $reserved }}[?(request.kind.group + "/" + request.kind.version)]))
{{- end }}

{{/* The condition for the queues policy: true for workloads, and templates of workloads, that are delegated to MultiKueue and have a queue. (list . KINDS) */}}
{{- define "managed-by.hasQueue" -}}
{{- $library := include "managed-by.library" (index . 0) | fromJson -}}
{{- $paths := dict -}}
{{- range index . 1 -}}
  {{- if .labels -}}{{- $_ := set $paths (printf "%s/%s" .group .kind) (list (splitList "." .path) (append (splitList "." .labels) $library.queueName)) -}}{{- end -}}
{{- end -}}
[{{ include "managed-by.celByKind" (list $paths list) }}.map(path, {{ include "managed-by.celValue" (list "object") }}.orValue(""))].exists(values,
  values.size() == 2 && values[0] == {{ quote $library.multiKueue }} && !(values[1] in [dyn(""), dyn(null)]))
{{- end }}

{{/* The matchConditions of the webhook: (list KINDS SETTINGS) */}}
{{- define "managed-by.matchConditions" -}}
# Updates: only if `managedBy` changes, in the object or in a template, or if the version lacks the field.
- name: managed-by-changed
  expression: |-
    {{- include "managed-by.fieldChanges" . | nindent 4 }}
# Status updates: only of delegated objects, of all objects of the kinds in `builtin_status_writers`, and in versions that lack the field.
- name: status-update-checked
  expression: |-
    {{- include "managed-by.statusUpdateChecked" . | nindent 4 }}
{{- end }}
