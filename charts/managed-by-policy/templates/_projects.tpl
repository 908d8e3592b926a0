{{/*
Reads the cluster: which projects of files/projects.yaml are installed, and who writes the status of their workloads.

The result is JSON with three lists:

  projects   what "managed-by.project" returns for each
  kinds      all kinds that the policy selects, with those in `settings.custom_kinds`
  problems   each value that is missing; "managed-by.check" fails with them

`helm template` has no access to a cluster. Then `--api-versions`, which Argo CD passes, or `projects.NAME.enabled` declares what is installed, and
`projects.NAME.statusWriters` who writes.
*/}}
{{- define "managed-by.projects" -}}
{{- $root := . -}}
{{- $isListed := include "managed-by.hasClusterVersions" . -}}
{{- $bound := include "managed-by.boundAccounts" . | fromJsonArray -}}
{{- $projects := list -}}
{{- $kinds := list -}}
{{- $problems := list -}}
{{- range .Files.Get "files/projects.yaml" | fromYamlArray -}}
  {{- $project := include "managed-by.project" (list $root . $isListed $bound) | fromJson -}}
  {{- $projects = append $projects $project -}}
  {{- $kinds = concat $kinds $project.kinds -}}
  {{- $problems = concat $problems $project.problems -}}
{{- end -}}
{{- range $index, $kind := (default dict .Values.settings).custom_kinds -}}
  {{- $versions := default (include "managed-by.servedVersions" (list $root .) | fromJsonArray) .versions -}}
  {{- if empty $versions -}}
    {{- $problems = append $problems (printf "settings.custom_kinds[%d].versions: the versions of %s.%s that the API server serves"
      $index .plural .group) -}}
  {{- end -}}
  {{- $path := default "spec.managedBy" .managed_by_path -}}
  {{- $kinds = append $kinds (dict "group" .group "versions" $versions "kind" .kind "plural" .plural "path" $path "status" true) -}}
{{- end -}}
{{- /* An empty list would become null. */ -}}
{{- dict "projects" $projects "kinds" $kinds "problems" (default list $problems) | toJson -}}
{{- end }}

{{/*
One project, as JSON: name, kinds (those that the policy selects), writers (user names), writesStatusOf, problems.
(list . PROJECT HASVERSIONS BOUND), where BOUND is what "managed-by.boundAccounts" returns
*/}}
{{- define "managed-by.project" -}}
{{- $root := index . 0 -}}
{{- $project := index . 1 -}}
{{- $isListed := index . 2 -}}
{{- $bound := index . 3 -}}
{{- $values := index $root.Values.projects $project.name -}}
{{- $enabled := dig "enabled" true $values | toString -}}
{{- $writesStatusOf := default list $project.writesStatusOf -}}
{{- $problems := list -}}

{{- $served := include "managed-by.servedKinds" (list $root $project.kinds) | fromJsonArray -}}
{{- $isServed := not (empty $served) -}}
{{- range $project.served -}}
  {{- if $root.Capabilities.APIVersions.Has . -}}{{- $isServed = true -}}{{- end -}}
{{- end -}}
{{- if and (eq $enabled "auto") (not $isListed) -}}
  {{- $problems = append $problems (printf
    "projects.%s.enabled: true or false, because there is no cluster that shows if %s is installed (or pass --api-versions)"
    $project.name $project.title) -}}
{{- end -}}
{{- $isSelected := or (eq $enabled "true") (and (eq $enabled "auto") $isServed) -}}
{{- $kinds := list -}}
{{- if $isSelected -}}{{- $kinds = default $project.kinds $served -}}{{- end -}}

{{- /* Who writes the status of Jobs is listed wherever it is installed, also if its own kind is not selected: otherwise its workloads stop. */ -}}
{{- $isInstalled := or $isSelected $isServed (not (empty $values.statusWriters)) -}}
{{- $isBuiltinWriter := and (include "managed-by.listsWriters" $root) (or $isSelected (not (empty $writesStatusOf))) -}}
{{- /* The admins of a namespace may not read the account of Kueue, and the policy of the cluster lists it. */ -}}
{{- $isMultiKueue := and (eq $project.name "kueue") (ne $root.Values.role "worker") (or (not $root.Values.namespaced) $values.statusWriters) -}}
{{- $writers := list -}}
{{- if and $isInstalled (or $isBuiltinWriter $isMultiKueue) -}}
  {{- $writers = default (include "managed-by.discoveredWriters" (list $root $project $bound) | fromJsonArray) $values.statusWriters -}}
  {{- if empty $writers -}}{{- $problems = append $problems (include "managed-by.missingWritersError" (list $root $project)) -}}{{- end -}}
{{- end -}}
{{- dict "name" $project.name "kinds" $kinds "writers" $writers "writesStatusOf" $writesStatusOf "problems" $problems | toJson -}}
{{- end }}

{{/* The kinds that are served, each with the versions that are: (list . KINDS) */}}
{{- define "managed-by.servedKinds" -}}
{{- $root := index . 0 -}}
{{- $served := list -}}
{{- range $kind := index . 1 -}}
  {{- $versions := list -}}
  {{- range .versions -}}
    {{- if $root.Capabilities.APIVersions.Has (printf "%s/%s/%s" $kind.group . $kind.kind) -}}{{- $versions = append $versions . -}}{{- end -}}
  {{- end -}}
  {{- if $versions -}}{{- $served = append $served (merge (dict "versions" $versions) $kind) -}}{{- end -}}
{{- end -}}
{{- $served | toJson -}}
{{- end }}

{{/* All served versions of a kind: (list . KIND) */}}
{{- define "managed-by.servedVersions" -}}
{{- $kind := index . 1 -}}
{{- $versions := list -}}
{{- range (index . 0).Capabilities.APIVersions -}}
  {{- if and (hasPrefix (printf "%s/" $kind.group) .) (hasSuffix (printf "/%s" $kind.kind) .) -}}
    {{- $versions = append $versions (index (splitList "/" .) 1) -}}
  {{- end -}}
{{- end -}}
{{- $versions | uniq | sortAlpha | toJson -}}
{{- end }}

{{/* Not empty if the settings list who may write the status of workloads that are not delegated. */}}
{{- define "managed-by.listsWriters" -}}
{{- $value := toString .Values.builtinStatusWriters -}}
{{- if or (eq $value "true") (and (eq $value "auto") (has .Values.role (list "management" "worker"))) -}}true{{- end -}}
{{- end }}

{{/*
The service accounts that a ClusterRoleBinding names, as a list of NAMESPACE/NAME. Many people can create a service account with the name that a
list expects, but only admins of the cluster can bind it.
*/}}
{{- define "managed-by.boundAccounts" -}}
{{- $accounts := list -}}
{{- /* The admins of a namespace may not look up anything in others. */ -}}
{{- if not .Values.namespaced -}}
  {{- range dig "items" list (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "") -}}
    {{- range .subjects -}}
      {{- if eq .kind "ServiceAccount" -}}{{- $accounts = append $accounts (printf "%s/%s" .namespace .name) -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $accounts | uniq | toJson -}}
{{- end }}

{{/* The user names of a project's controllers, from the service accounts in the cluster: (list . PROJECT BOUND) */}}
{{- define "managed-by.discoveredWriters" -}}
{{- $project := index . 1 -}}
{{- $writers := list -}}
{{- range index . 2 -}}
  {{- $account := splitList "/" . -}}
  {{- $isKnown := or (has . (default list $project.accounts)) (eq (index $account 1) (default "" $project.accountInAnyNamespace)) -}}
  {{- if and $isKnown (lookup "v1" "ServiceAccount" (index $account 0) (index $account 1)) -}}
    {{- $writers = append $writers (printf "system:serviceaccount:%s:%s" (index $account 0) (index $account 1)) -}}
  {{- end -}}
{{- end -}}
{{- $writers | sortAlpha | toJson -}}
{{- end }}

{{/* The error about a project whose controllers have none of the known accounts: (list . PROJECT) */}}
{{- define "managed-by.missingWritersError" -}}
{{- $project := index . 1 -}}
{{- $known := list -}}
{{- range $project.accounts -}}{{- $known = append $known (printf "system:serviceaccount:%s" (replace "/" ":" .)) -}}{{- end -}}
{{- if $project.accountInAnyNamespace -}}{{- $known = append $known (printf "system:serviceaccount:NAMESPACE:%s" $project.accountInAnyNamespace) -}}{{- end -}}
{{- if $project.user -}}{{- $known = append $known $project.user -}}{{- end -}}
{{- printf "projects.%s.statusWriters: must list the usernames of the controllers of %s, because " $project.name $project.title -}}
{{- if (index . 0).Values.namespaced -}}
namespace admins cannot read other namespaces
{{- else if include "managed-by.canLookUp" (index . 0) -}}
no ClusterRoleBinding references any of its service accounts
{{- else -}}
service accounts cannot be looked up without a cluster
{{- end -}}
{{- printf "; usual names: %s" (join ", " $known) -}}
{{- end }}

{{/* Not empty if `lookup` reaches a cluster: every cluster has this namespace. */}}
{{- define "managed-by.canLookUp" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}true{{- end -}}
{{- end }}

{{/* Not empty if Kubewarden is installed, as far as Helm can see. */}}
{{- define "managed-by.hasKubewarden" -}}
{{- if .Capabilities.APIVersions.Has "policies.kubewarden.io/v1/ClusterAdmissionPolicy" -}}true{{- end -}}
{{- end }}

{{/* Not empty if .Capabilities.APIVersions comes from a cluster. Without one, it contains only Helm's built-in list. */}}
{{- define "managed-by.hasClusterVersions" -}}
{{- or (include "managed-by.hasKubewarden" .) (include "managed-by.canLookUp" .) -}}
{{- end }}

{{/* The projects whose controllers write the status of Jobs. */}}
{{- define "managed-by.jobWriters" -}}
{{- $titles := list -}}
{{- range .Files.Get "files/projects.yaml" | fromYamlArray -}}
  {{- $kinds := list -}}
  {{- range .kinds -}}{{- $kinds = append $kinds .kind -}}{{- end -}}
  {{- if has "Job" (concat $kinds (default list .writesStatusOf)) -}}{{- $titles = append $titles .title -}}{{- end -}}
{{- end -}}
{{- join ", " $titles -}}
{{- end }}
