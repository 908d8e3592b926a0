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

{{/* Converts a path to a CEL expression with an optional value: (list "object" "spec.managedBy") is object.?spec.?managedBy */}}
{{- define "managed-by.cel" -}}
{{- index . 0 -}}
{{- range splitList "." (index . 1) -}}
{{- if and (regexMatch "^[A-Za-z_][A-Za-z0-9_]*$" .) (not (has . (list "in" "true" "false" "null"))) -}}.?{{ . }}{{- else -}}[?{{ quote . }}]{{- end -}}
{{- end -}}
{{- end }}

{{/* A CEL expression that is true if an update changes the value at a path. [] matches each element of a list. */}}
{{- define "managed-by.valueChanged" -}}
{{- if contains "[]." . -}}
{{- $list := first (splitList "[]." .) -}}
{{- $item := include "managed-by.cel" (list "item" (last (splitList "[]." .))) -}}
{{- $new := include "managed-by.cel" (list "object" $list) -}}
{{- $old := include "managed-by.cel" (list "oldObject" $list) -}}
{{- /* Compare the lists first, because most updates don't change them. Reading the field in each of 60,000 elements takes seconds, so for a long list every
change counts. */ -}}
{{- printf "%s != %s && ([%s, %s].exists(list, list.orValue([]).size() > 1000) || %s.orValue([]).map(item, %s) != %s.orValue([]).map(item, %s))"
  $new $old $new $old $new $item $old $item -}}
{{- else -}}
{{- printf "%s != %s" (include "managed-by.cel" (list "object" .)) (include "managed-by.cel" (list "oldObject" .)) -}}
{{- end -}}
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

{{/* The condition for updates: true if `managedBy` changes, in the object or in a template, and for versions that lack the field. True for all other requests. (list KINDS) */}}
{{- define "managed-by.fieldChanges" -}}
{{- $lines := list `request.operation != "UPDATE" || has(request.subResource)` -}}
{{- $lines = concat $lines (include "managed-by.prunedVersions" . | fromJsonArray) -}}
{{- $lines = append $lines (include "managed-by.valueChanged" "spec.managedBy") -}}
{{- range $kind := index . 0 -}}
  {{- $paths := without (prepend (default list .templates) (default "spec.managedBy" .path)) "spec.managedBy" -}}
  {{- range $paths -}}
    {{- $lines = append $lines (printf "request.kind.group == %q && request.kind.kind == %q && %s" $kind.group $kind.kind (include "managed-by.valueChanged" .)) -}}
  {{- end -}}
{{- end -}}
{{- join " ||\n" (uniq $lines) -}}
{{- end }}

{{/*
The condition for status updates: true for delegated objects, for all objects of the kinds in `builtin_status_writers`, and for versions that lack the field.
True for requests to the main resource. (list KINDS SETTINGS)
*/}}
{{- define "managed-by.statusUpdateChecked" -}}
{{- $kinds := index . 0 -}}
{{- $lines := include "managed-by.prunedVersions" (list $kinds) | fromJsonArray -}}
{{- with (index . 1).builtin_status_writers -}}
  {{- $lines = append $lines (printf "request.kind.kind in %s" (keys . | sortAlpha | toJson)) -}}
{{- end -}}
{{- $reserved := dict -}}
{{- /* The field's path in kinds that don't use spec.managedBy. */ -}}
{{- $paths := list -}}
{{- range $kind := $kinds -}}
  {{- if and .status .path (ne .path "spec.managedBy") -}}
    {{- $stored := include "managed-by.cel" (list "oldObject" .path) -}}
    {{- $paths = append $paths (printf "request.kind.group == %q && request.kind.kind == %q ? %s :" .group .kind $stored) -}}
  {{- end -}}
  {{- range .versions -}}
    {{- if and $kind.status $kind.reservedValue -}}{{- $_ := set $reserved (printf "%s/%s" $kind.group .) $kind.reservedValue -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- $stored := append (uniq $paths) (include "managed-by.cel" (list "oldObject" "spec.managedBy")) | join "\n  " -}}
{{- $isDelegated := printf "[%s].exists(name,\n  name.hasValue() && name != %s[?(request.kind.group + \"/\" + request.kind.version)])"
  $stored (toJson $reserved) -}}
{{- printf "!has(request.subResource) || request.subResource == \"status\" && (\n%s)" (join " ||\n" (append $lines $isDelegated) | indent 2) -}}
{{- end }}

{{/* The condition for the queues policy: true for workloads, and templates of workloads, that are delegated to MultiKueue and have a queue. (list . KINDS) */}}
{{- define "managed-by.hasQueue" -}}
{{- $library := include "managed-by.library" (index . 0) | fromYaml -}}
{{- $lines := list -}}
{{- range index . 1 -}}
  {{- if .labels -}}
    {{- $line := printf "%s.orValue(\"\") == %q && %s[?%q].orValue(\"\") != \"\"" (include "managed-by.cel" (list "object" .path)) $library.multiKueue (include "managed-by.cel" (list "object" .labels)) $library.queueName -}}
    {{- if ne .location "workload" -}}{{- $line = printf "request.kind.group == %q && request.kind.kind == %q && %s" .group .kind $line -}}{{- end -}}
    {{- $lines = append $lines $line -}}
  {{- end -}}
{{- end -}}
{{- join " ||\n" (uniq $lines) -}}
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
