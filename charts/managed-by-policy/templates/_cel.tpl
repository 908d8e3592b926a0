{{/*
The kinds in files/projects.yaml for the ValidatingAdmissionPolicies, by group/version and kind, and the reserved values.
*/}}
{{- define "managed-by.celKinds" -}}
{{- $kinds := dict -}}{{- $reservedValues := list -}}
{{- $templates := dict "CronJob" "Job" "OptimizationJob" "TrainJob" "RayCronJob" "RayJob" -}}
{{- range .Files.Get "files/projects.yaml" | fromYamlArray -}}
  {{- range $kind := .kinds -}}
    {{- $reservedValues = append $reservedValues $kind.reservedValue -}}
    {{- $facts := dict "path" (default "spec.managedBy" $kind.path) "reserved" $kind.reservedValue -}}
    {{- $_ := set $facts "workload" (get $templates $kind.kind | default $kind.kind) -}}
    {{- $_ := set $facts "location" (hasKey $templates $kind.kind | ternary "template" "workload") -}}
    {{- range .versions -}}
      {{- $version := printf "%s/%s" $kind.group . -}}
      {{- $_ := set $kinds $version (merge (dict $kind.kind $facts) (default dict (get $kinds $version))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- dict "kinds" $kinds "reservedValues" ($reservedValues | uniq | sortAlpha) | toJson -}}
{{- end }}

{{/* Converts a JSON value to a CEL literal. kube-apiserver requires that all elements have the same type, so each is dyn(...). */}}
{{- define "managed-by.celLiteral" -}}
{{- $items := list -}}
{{- if kindIs "map" . -}}
  {{- range $key, $value := . -}}{{- $items = append $items (printf "%s: dyn(%s)" (toJson $key) (include "managed-by.celLiteral" $value)) -}}{{- end -}}
  {{- printf "{%s}" (join ", " $items) -}}
{{- else if kindIs "slice" . -}}
  {{- range . -}}{{- $items = append $items (printf "dyn(%s)" (include "managed-by.celLiteral" .)) -}}{{- end -}}
  {{- printf "[%s]" (join ", " $items) -}}
{{- else -}}
  {{- toJson . -}}
{{- end -}}
{{- end }}
