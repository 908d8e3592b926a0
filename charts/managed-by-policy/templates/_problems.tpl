{{/*
Problems in the settings that values.schema.json does not detect, as a list of sentences: (list . SETTINGS). PolicyServer does not start with such settings.
tests/policy/values.rs compares the result with the library for random values.
*/}}
{{- define "managed-by.settingsProblems" -}}
{{- $library := include "managed-by.library" (index . 0) | fromJson -}}
{{- $settings := index . 1 -}}
{{- $problems := list -}}
{{- $declared := default list $settings.custom_kinds -}}
{{- $controllers := kindIs "map" $settings.controllers | ternary $settings.controllers dict -}}
{{- $namespaces := default list $settings.namespaces -}}

{{- /* Values that each kind of workload accepts: a list, or an empty list for any. */ -}}
{{- $accepted := dict -}}{{- $workloads := dict -}}{{- $known := list $library.multiKueue -}}
{{- range concat $library.kinds $declared -}}
  {{- $workload := default .kind .workload -}}
  {{- $values := default list .values -}}{{- if kindIs "slice" .format -}}{{- $values = .format -}}{{- end -}}
  {{- $_ := set $accepted $workload (append (default list (get $accepted $workload)) $values) -}}
  {{- if or (not .workload) (eq .location "workload") -}}{{- $_ := set $workloads $workload true -}}{{- end -}}
  {{- if .workload -}}{{- $known = append $known .reservedValue -}}{{- end -}}
{{- end -}}
{{- $rule := (include "managed-by.celRules" (index . 0) | fromJson).ids.reservedDomain -}}
{{- $insists := eq (toString (get (default dict $settings.rules) $rule)) "off" -}}
{{- range $name, $entry := $controllers -}}
  {{- $domain := first (splitList "/" $name) -}}
  {{- $names := list -}}
  {{- range $known -}}{{- if hasPrefix (printf "%s/" $domain) . -}}{{- $names = append $names . -}}{{- end -}}{{- end -}}
  {{- if not (contains "/" $name) -}}
    {{- $problems = append $problems (printf "controllers[%s]: must have a domain, such as acme.io/runner" $name) -}}
  {{- else if and $names (not (has $name $known)) (not $insists) -}}
    {{- $problems = append $problems (printf "controllers[%s]: no known controller has this name; known: %s. If it is right, set settings.rules[%s] to off"
      $name (uniq $names | join ", ") $rule) -}}
  {{- end -}}
  {{- range $declared -}}
    {{- if eq $name (default "" .reserved_value) -}}
      {{- $problems = append $problems (printf "controllers[%s]: must be an external controller; the built-in controller of %s is always allowed" $name .kind) -}}
    {{- end -}}
  {{- end -}}
  {{- if kindIs "map" $entry -}}
    {{- range $kind := default list $entry.kinds -}}
      {{- $accepts := not (hasKey $accepted $kind) -}}
      {{- range get $accepted $kind -}}{{- if or (not .) (has $name .) -}}{{- $accepts = true -}}{{- end -}}{{- end -}}
      {{- if not $accepts -}}{{- $problems = append $problems (printf "controllers[%s].kinds: the API of %s rejects this controller's name" $name $kind) -}}{{- end -}}
      {{- if not (hasKey $workloads $kind) -}}
        {{- $problems = append $problems (printf "controllers[%s].kinds: %q must be a supported kind, such as Job, or a kind in settings.custom_kinds" $name $kind) -}}
      {{- end -}}
    {{- end -}}
    {{- $problems = concat $problems (include "managed-by.covered" (list (printf "controllers[%s].namespaces" $name) $entry.namespaces) | fromJsonArray) -}}
  {{- end -}}
{{- end -}}
{{- range $kind, $_ := default dict $settings.builtin_status_writers -}}
  {{- if not (hasKey $workloads $kind) -}}
    {{- $problems = append $problems (printf "settings.builtin_status_writers: %q must be a supported kind, such as Job, or a kind in settings.custom_kinds" $kind) -}}
  {{- end -}}
{{- end -}}
{{- $problems = concat $problems (include "managed-by.covered" (list "settings.default_local_queue" $settings.default_local_queue) | fromJsonArray) -}}

{{- $requires := "" -}}{{- if eq $settings.role "management" -}}{{- $requires = "the role management" -}}{{- end -}}
{{- range $index, $entry := $namespaces -}}
  {{- if eq .delegation "required" -}}
    {{- $requires = printf "namespaces[%d]" $index -}}
    {{- if eq $settings.role "worker" -}}
      {{- $problems = append $problems (printf "namespaces[%d].delegation: a cluster with the role worker cannot require delegation" $index) -}}
    {{- end -}}
  {{- end -}}
  {{- range $name := default list .match -}}
    {{- with include "managed-by.matchingEntry" (list $name (slice $namespaces 0 $index)) -}}
      {{- $problems = append $problems (printf "namespaces[%d]: %q is never reached, because namespaces[%s] matches it" $index $name (splitList " " . | first)) -}}
    {{- end -}}
  {{- end -}}
  {{- $problems = concat $problems (include "managed-by.covered" (list (printf "namespaces[%d].match" $index) .match) | fromJsonArray) -}}
{{- end -}}
{{- if and (kindIs "string" $settings.controllers) $requires -}}
  {{- $problems = append $problems (printf "controllers: must have at least one controller, because %s requires delegation" $requires) -}}
{{- end -}}

{{- range $index, $kind := $declared -}}
  {{- $path := printf "settings.custom_kinds[%d]" $index -}}
  {{- range concat $library.kinds (slice $declared 0 $index) -}}
    {{- if and (eq .group $kind.group) (eq .kind $kind.kind) -}}
      {{- $problems = append $problems (printf "%s: %s.%s is already %s" $path .kind .group (hasKey . "workload" | ternary "supported, without a declaration" "declared")) -}}
    {{- end -}}
  {{- end -}}
  {{- with .reserved_value -}}
    {{- $format := default "path" $kind.format -}}
    {{- if eq . $library.multiKueue -}}
      {{- $problems = append $problems (printf "%s.reserved_value: must be the kind's built-in controller, not an external controller" $path) -}}
    {{- else if kindIs "slice" $format | ternary (not (has . (kindIs "slice" $format | ternary $format list))) (and (eq (toString $format) "path") (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[/A-Za-z0-9._~%!$&'()*+,;=:-]{1,62}$" .))) -}}
      {{- $problems = append $problems (printf "%s.reserved_value: must be one of the values that `format` accepts" $path) -}}
    {{- end -}}
  {{- end -}}
  {{- with .status -}}
    {{- $paths := list -}}
    {{- if and .success .failure -}}
      {{- $same := and .success.condition (eq (default "" .success.condition) (default "" .failure.condition)) -}}
      {{- if and .success.path (eq .success.path (default "" .failure.path)) -}}
        {{- range .success.values -}}{{- if has . $kind.status.failure.values -}}{{- $same = true -}}{{- end -}}{{- end -}}
      {{- end -}}
      {{- if $same -}}{{- $problems = append $problems (printf "%s.status.failure: must not match the same statuses as `success`" $path) -}}{{- end -}}
    {{- end -}}
    {{- range list .success .failure -}}{{- with . -}}{{- $paths = append $paths (default "status.conditions" .path) | uniq -}}{{- end -}}{{- end -}}
    {{- range $declared := concat (compact (list .start .end)) (default list .counters) (default list .totals) -}}
      {{- range $other := $paths -}}
        {{- $pair := list (printf "%s." (replace "[" "." $declared)) (printf "%s." (replace "[" "." $other)) -}}
        {{- if or (hasPrefix (index $pair 0) (index $pair 1)) (hasPrefix (index $pair 1) (index $pair 0)) -}}
          {{- $problems = append $problems (printf "%s.status: the path %q overlaps with %q" $path $declared $other) -}}
        {{- end -}}
      {{- end -}}
      {{- $paths = append $paths $declared -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $problems | toJson -}}
{{- end }}

{{/* Problems of a list of namespaces: items that an earlier item covers. (list PATH LIST) */}}
{{- define "managed-by.covered" -}}
{{- $problems := list -}}
{{- $path := index . 0 -}}{{- $items := default list (index . 1) -}}
{{- range $index, $item := $items -}}
  {{- if include "managed-by.matchingEntry" (list $item (list (dict "match" (slice $items 0 $index)))) -}}
    {{- $problems = append $problems (printf "%s[%d]: an earlier item covers %q" $path $index $item) -}}
  {{- end -}}
{{- end -}}
{{- $problems | toJson -}}
{{- end }}

{{/*
Replaces missing values by the defaults: Helm removes a value that is null. Each template starts with it. In `controllers`, `namespaces` and `exempt`, null removes the
setting, and in labels and resources it removes an item.
*/}}
{{- define "managed-by.defaults" -}}
{{- include "managed-by.fill" (list .Values (omit (.Files.Get "files/defaults.json" | fromJson) "controllers" "namespaces" "exempt")) -}}
{{- end }}

{{- define "managed-by.fill" -}}
{{- $values := index . 0 -}}
{{- range $key, $default := index . 1 -}}
  {{- if not (hasKey $values $key) -}}
    {{- $_ := set $values $key $default -}}
  {{- else if and (kindIs "map" $default) (not (has $key (list "labels" "requests" "limits" "resources"))) -}}
    {{- include "managed-by.fill" (list (get $values $key) $default) -}}
  {{- end -}}
{{- end -}}
{{- end }}
