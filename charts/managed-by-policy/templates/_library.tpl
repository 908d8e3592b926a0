{{/* The library's kinds and rules as JSON, which is parsed from YAML once. Fails if a chart was packaged without them. */}}
{{- define "managed-by.library" -}}
{{- if not (hasKey .Values "_library") -}}
  {{- $_ := set .Values "_library" (required "files/library.yaml is missing: run make generate" (.Files.Get "files/library.yaml") | fromYaml | toJson) -}}
{{- end -}}
{{- .Values._library -}}
{{- end }}

{{/* The projects in files/projects.yaml as JSON, each with its kinds from the library: those that one of its selectors matches. */}}
{{- define "managed-by.projectTable" -}}
{{- $all := (include "managed-by.library" . | fromJson).kinds -}}
{{- $projects := list -}}
{{- range $project := .Files.Get "files/projects.yaml" | fromYamlArray -}}
  {{- $kinds := list -}}
  {{- range $kind := $all -}}
    {{- range $project.kinds -}}
      {{- $isVersion := or (not .versions) (has (first $kind.versions) .versions) -}}
      {{- $isCrd := or (not (hasKey . "sharesCrd")) (eq .sharesCrd $kind.sharesCrd) -}}
      {{- if and (eq .group $kind.group) $isVersion $isCrd -}}{{- $kinds = append $kinds $kind -}}{{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $projects = append $projects (set $project "kinds" $kinds) -}}
{{- end -}}
{{- $projects | toJson -}}
{{- end }}
