{{/*
The tables of files/projects.yaml by group and version, for the ValidatingAdmissionPolicies: the reserved value of the workloads, their kinds, and
the path of the field in each kind. A kind without status rules has the field in a template.
*/}}
{{- define "managed-by.celKinds" -}}
{{- $controllers := dict -}}{{- $workloads := dict -}}{{- $paths := dict -}}
{{- range .Files.Get "files/projects.yaml" | fromYamlArray -}}
  {{- range $kind := .kinds -}}
    {{- range .versions -}}
      {{- $version := printf "%s/%s" $kind.group . -}}
      {{- $path := splitList "." (default "spec.managedBy" $kind.path) -}}
      {{- $_ := set $paths $version (merge (dict $kind.kind $path) (default dict (get $paths $version))) -}}
      {{- if $kind.status -}}
        {{- $_ := set $controllers $version $kind.reservedValue -}}
        {{- $_ := set $workloads $version (append (default list (get $workloads $version)) $kind.kind) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- dict "builtInControllers" $controllers "names" (values $controllers | uniq | sortAlpha) "workloads" $workloads "paths" $paths | toJson -}}
{{- end }}

{{/* A JSON value as a CEL literal. kube-apiserver requires elements of one type, so each is dyn(...). */}}
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
