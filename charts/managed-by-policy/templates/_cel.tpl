{{/*
The library's kinds for the ValidatingAdmissionPolicies, as JSON:

  kinds            by group/version and kind. All values are strings, because CEL requires values of one type: `defaulted` and
                   `optional` (a required delegation doesn't apply) exist only if they are true, and `labels` and `ttl` only if
                   the workloads have such fields
  reservedValues   of all kinds
  pruned           GROUP/VERSION/KIND of the versions whose schema lacks the field
*/}}
{{- define "managed-by.celKinds" -}}
{{- $kinds := dict -}}{{- $reservedValues := list -}}{{- $pruned := list -}}
{{- range $kind := (include "managed-by.library" . | fromJson).kinds -}}
  {{- $reservedValues = append $reservedValues .reservedValue -}}
  {{- $facts := dict "path" .path "reserved" .reservedValue "workload" .workload "location" .location "format" .format -}}
  {{- if .defaulted -}}{{- $_ := set $facts "defaulted" "true" -}}{{- end -}}
  {{- if not .canRequireDelegation -}}{{- $_ := set $facts "optional" "true" -}}{{- end -}}
  {{- if .labels -}}{{- $_ := set $facts "labels" .labels -}}{{- end -}}
  {{- if .ttl -}}{{- $_ := set $facts "ttl" .ttl -}}{{- end -}}
  {{- range .versions -}}
    {{- $version := printf "%s/%s" $kind.group . -}}
    {{- $_ := set $kinds $version (merge (dict $kind.kind $facts) (default dict (get $kinds $version))) -}}
    {{- if has . $kind.pruned -}}{{- $pruned = append $pruned (printf "%s/%s" $version $kind.kind) -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- dict "kinds" $kinds "reservedValues" ($reservedValues | uniq | sortAlpha) "pruned" $pruned | toJson -}}
{{- end }}

{{/*
The library's rules that the ValidatingAdmissionPolicies implement, as JSON:

  ids               rule of each variable
  all               rules
  clusterSpecific   {RULE: true} for each rule that only warns exempt users
  defaults          CEL expressions by rule, for rules that do not always deny
*/}}
{{- define "managed-by.celRules" -}}
{{- $library := include "managed-by.library" . | fromJson -}}
{{- $ids := dict -}}{{- $all := list -}}{{- $clusterSpecific := dict -}}{{- $defaults := dict -}}
{{- range $library.cel -}}{{- $_ := set $ids .variable .rule -}}{{- $all = append $all .rule | uniq -}}{{- end -}}
{{- range $library.rules -}}
  {{- if has .id $all -}}
    {{- if has .category (list "clusterSpecific" "policyBypass") -}}{{- $_ := set $clusterSpecific .id true -}}{{- end -}}
    {{- if and (eq .category "policyBypass") (ne .default "deny") -}}
      {{- $_ := set $defaults .id (printf "variables.configuresDelegation ? \"deny\" : %q" .default) -}}
    {{- else if and (eq .category "api") (eq .default "deny") -}}
      {{- $_ := set $defaults .id `variables.declaration.size() > 0 ? "warn" : "deny"` -}}
    {{- else if ne .default "deny" -}}
      {{- $_ := set $defaults .id (quote .default) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- dict "ids" $ids "all" $all "clusterSpecific" $clusterSpecific "defaults" $defaults | toJson -}}
{{- end }}

{{/*
Converts a JSON value to a CEL literal. kube-apiserver requires that all values in a map or list have the same type, so values that are not strings in a list are
dyn(...).
*/}}
{{- define "managed-by.celLiteral" -}}
{{- $items := list -}}
{{- if kindIs "map" . -}}
  {{- range $key, $value := . -}}{{- $items = append $items (printf "%s: dyn(%s)" (toJson $key) (include "managed-by.celLiteral" $value)) -}}{{- end -}}
  {{- printf "{%s}" (join ", " $items) -}}
{{- else if kindIs "slice" . -}}
  {{- range . -}}{{- $items = append $items (kindIs "string" . | ternary (toJson .) (printf "dyn(%s)" (include "managed-by.celLiteral" .))) -}}{{- end -}}
  {{- printf "[%s]" (join ", " $items) -}}
{{- else -}}
  {{- toJson . -}}
{{- end -}}
{{- end }}
