{{/*
Detects which projects in files/projects.yaml are installed in the cluster, and which users write the status of their workloads.

The result is JSON with three lists:

  projects   the result of "managed-by.project" for each project
  kinds      all kinds that the policy selects, including the kinds in `settings.custom_kinds`
  problems   the missing values; "managed-by.check" fails if there are any

`helm template` has no access to a cluster. In that case, set `--api-versions` (Argo CD does) or `projects.NAME.enabled` for the installed projects, and
`projects.NAME.statusWriters` for their writers.
*/}}
{{- define "managed-by.projects" -}}
{{- $root := . -}}
{{- $hasClusterVersions := include "managed-by.hasClusterVersions" . -}}
{{- $bound := include "managed-by.boundAccounts" . | fromJson -}}
{{- $projects := list -}}
{{- $kinds := list -}}
{{- $problems := list -}}{{- $undetected := list -}}
{{- range include "managed-by.projectTable" . | fromJsonArray -}}
  {{- $project := include "managed-by.project" (list $root . $hasClusterVersions $bound) | fromJson -}}
  {{- $projects = append $projects $project -}}
  {{- $kinds = concat $kinds $project.kinds -}}
  {{- $problems = concat $problems $project.problems -}}
  {{- if $project.isUndetected -}}{{- $undetected = append $undetected $project.name -}}{{- end -}}
{{- end -}}
{{- if $undetected -}}
  {{- $problems = append $problems (printf "projects.NAME.enabled: must be true or false for %s, because without a cluster Helm can't detect which projects are installed (or pass --api-versions)"
    (join ", " $undetected)) -}}
{{- end -}}
{{- range $index, $kind := (default dict .Values.settings).custom_kinds -}}
  {{- $versions := default (include "managed-by.servedVersions" (list $root .) | fromJsonArray) .versions -}}
  {{- if empty $versions -}}
    {{- $problems = append $problems (printf "settings.custom_kinds[%d].versions: must list the versions of %s.%s that the API server serves"
      $index .plural .group) -}}
  {{- end -}}
  {{- $path := default "spec.managedBy" .managed_by_path -}}
  {{- $kinds = append $kinds (dict "group" .group "versions" $versions "kind" .kind "plural" .plural "path" $path "status" true) -}}
{{- end -}}
{{- /* An empty list would become null. */ -}}
{{- dict "projects" $projects "kinds" $kinds "problems" (default list $problems) | toJson -}}
{{- end }}

{{/*
Returns a project as JSON: name, isMultiKueue, kinds (the selected ones), writers (usernames), writesStatusOf, problems.
(list . PROJECT HASVERSIONS BOUND), where HASVERSIONS is the result of "managed-by.hasClusterVersions", and BOUND the result of
"managed-by.boundAccounts"
*/}}
{{- define "managed-by.project" -}}
{{- $root := index . 0 -}}
{{- $project := index . 1 -}}
{{- $hasClusterVersions := index . 2 -}}
{{- $bound := index . 3 -}}
{{- $values := index $root.Values.projects $project.name -}}
{{- $enabled := dig "enabled" true $values | toString -}}
{{- $writesStatusOf := default list $project.writesStatusOf -}}
{{- $problems := list -}}
{{- $isUndetected := false -}}

{{- $served := include "managed-by.servedKinds" (list $root $project.kinds) | fromJsonArray -}}
{{- $isServed := not (empty $served) -}}
{{- range $project.served -}}
  {{- if $root.Capabilities.APIVersions.Has . -}}{{- $isServed = true -}}{{- end -}}
{{- end -}}
{{- if and (eq $enabled "auto") (not $hasClusterVersions) -}}
  {{- $isUndetected = true -}}
{{- end -}}
{{- $isSelected := or (eq $enabled "true") (and (eq $enabled "auto") $isServed) -}}
{{- $kinds := list -}}
{{- if $isSelected -}}{{- $kinds = default $project.kinds $served -}}{{- end -}}

{{- /* Always list an installed project's controllers that write Job status, even if the project's own kind is not selected. Otherwise its workloads
can't progress. */ -}}
{{- $isInstalled := or $isSelected $isServed (not (empty $values.statusWriters)) -}}
{{- $hasAccounts := or $project.accounts $project.accountInAnyNamespace -}}
{{- $isBuiltinWriter := and $hasAccounts (include "managed-by.listsWriters" $root) (or $isSelected (not (empty $writesStatusOf))) -}}
{{- /* Namespace admins can't read Kueue's service account. The cluster-wide policy lists it. */ -}}
{{- $isMultiKueue := and $project.isMultiKueue (ne $root.Values.role "worker") (or (not $root.Values.namespaced) $values.statusWriters) -}}
{{- $writers := list -}}
{{- if and $isInstalled (or $isBuiltinWriter $isMultiKueue) -}}
  {{- $writers = default (include "managed-by.discoveredWriters" (list $root $project $bound) | fromJsonArray) $values.statusWriters -}}
  {{- if empty $writers -}}{{- $problems = append $problems (include "managed-by.missingWritersError" (list $root $project)) -}}{{- end -}}
{{- end -}}
{{- dict "name" $project.name "isUndetected" $isUndetected "isMultiKueue" $project.isMultiKueue "kinds" $kinds "writers" $writers "writesStatusOf" $writesStatusOf "problems" $problems | toJson -}}
{{- end }}

{{/* The kinds of a cluster by the suffix of their policy's name, as JSON: none for Kubernetes, so that the name of its policy does not depend on `namespaced`. */}}
{{- define "managed-by.kindsByProject" -}}
{{- $groups := dict -}}{{- $declared := .kinds -}}
{{- range .projects -}}
  {{- $suffix := printf "-%s" (kebabcase .name) | replace "-kubernetes" "" -}}
  {{- with .kinds -}}{{- $_ := set $groups $suffix . -}}{{- $declared = slice $declared (len .) -}}{{- end -}}
{{- end -}}
{{- if $declared -}}{{- $_ := set $groups "-custom-kinds" $declared -}}{{- end -}}
{{- $groups | toJson -}}
{{- end }}

{{/* The served kinds, each with its served versions: (list . KINDS) */}}
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

{{/* Not empty if the settings restrict who may write the status of workloads that are not delegated. */}}
{{- define "managed-by.listsWriters" -}}
{{- $value := toString .Values.builtinStatusWriters -}}
{{- if or (eq $value "true") (and (eq $value "auto") (has .Values.role (list "management" "worker"))) -}}true{{- end -}}
{{- end }}

{{/*
The ClusterRoles of service accounts, as JSON: {NAMESPACE/NAME: [CLUSTERROLE, ...]}. Many users can create a service account with an expected name, but only
cluster admins can bind it.
*/}}
{{- define "managed-by.boundAccounts" -}}
{{- $accounts := dict -}}
{{- /* Namespace admins can't list ClusterRoleBindings. */ -}}
{{- if not .Values.namespaced -}}
  {{- range dig "items" list (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "") -}}
    {{- $role := .roleRef.name -}}
    {{- range .subjects -}}
      {{- if eq .kind "ServiceAccount" -}}
        {{- $account := printf "%s/%s" .namespace .name -}}
        {{- $_ := set $accounts $account (append (default list (get $accounts $account)) $role) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $accounts | toJson -}}
{{- end }}

{{/*
The usernames of a project's controllers, from the service accounts in the cluster: (list . PROJECT BOUND). A ClusterRole of the account must let it write the
status of one of the project's kinds: accounts with an expected name may be bound to other roles, such as `view`.
*/}}
{{- define "managed-by.discoveredWriters" -}}
{{- $root := index . 0 -}}
{{- $project := index . 1 -}}
{{- $kinds := $project.kinds -}}
{{- range (include "managed-by.library" $root | fromJson).kinds -}}
  {{- if has .kind (default list $project.writesStatusOf) -}}{{- $kinds = append $kinds . -}}{{- end -}}
{{- end -}}
{{- $writers := list -}}
{{- range $name, $roles := index . 2 -}}
  {{- $account := splitList "/" $name -}}
  {{- $isKnown := or (has $name (default list $project.accounts)) (eq (index $account 1) (default "" $project.accountInAnyNamespace)) -}}
  {{- if and $isKnown (lookup "v1" "ServiceAccount" (index $account 0) (index $account 1)) (include "managed-by.grantsStatus" (list $roles $kinds)) -}}
    {{- $writers = append $writers (printf "system:serviceaccount:%s:%s" (index $account 0) (index $account 1)) -}}
  {{- end -}}
{{- end -}}
{{- $writers | sortAlpha | toJson -}}
{{- end }}

{{/* Not empty if one of the ClusterRoles grants writes to the status of one of the kinds: (list ROLES KINDS) */}}
{{- define "managed-by.grantsStatus" -}}
{{- $kinds := index . 1 -}}
{{- range index . 0 | uniq -}}
  {{- range $rule := default list (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" .).rules -}}
    {{- $verbs := default list $rule.verbs -}}
    {{- if or (has "*" $verbs) (has "update" $verbs) (has "patch" $verbs) -}}
      {{- range $kinds -}}
        {{- $isGroup := or (has "*" (default list $rule.apiGroups)) (has .group (default list $rule.apiGroups)) -}}
        {{- $resources := default list $rule.resources -}}
        {{- if and $isGroup (or (has "*" $resources) (has "*/status" $resources) (has (printf "%s/status" .plural) $resources)) -}}true{{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{/* The error for a project without any of the known service accounts: (list . PROJECT) */}}
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
none of its usual service accounts exists with a ClusterRole that may write the status
{{- else -}}
service accounts cannot be looked up without a cluster
{{- end -}}
{{- printf "; usual names: %s" (join ", " $known) -}}
{{- end }}

{{/* Not empty if `lookup` has access to a cluster. Every cluster has this namespace. */}}
{{- define "managed-by.canLookUp" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}true{{- end -}}
{{- end }}

{{/* Not empty if Helm detects that Kubewarden is installed. */}}
{{- define "managed-by.hasKubewarden" -}}
{{- if .Capabilities.APIVersions.Has "policies.kubewarden.io/v1/ClusterAdmissionPolicy" -}}true{{- end -}}
{{- end }}

{{/* Not empty if .Capabilities.APIVersions comes from a cluster. Without one, it contains only Helm's built-in list. */}}
{{- define "managed-by.hasClusterVersions" -}}
{{- or (include "managed-by.hasKubewarden" .) (include "managed-by.canLookUp" .) -}}
{{- end }}

{{/* The projects whose controllers write the status of Jobs. */}}
{{- define "managed-by.jobWriters" -}}
{{- $job := (include "managed-by.library" . | fromJson).job.kind -}}
{{- $titles := list -}}
{{- range include "managed-by.projectTable" . | fromJsonArray -}}
  {{- $kinds := list -}}
  {{- range .kinds -}}{{- $kinds = append $kinds .kind -}}{{- end -}}
  {{- if has $job (concat $kinds (default list .writesStatusOf)) -}}{{- $titles = append $titles .title -}}{{- end -}}
{{- end -}}
{{- join ", " $titles -}}
{{- end }}
