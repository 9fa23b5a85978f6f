{{/* What a schema cannot say, or not in words that help: each check fails with the key, the value and what to write. */}}
{{- define "scaled-app.checked" -}}
{{- with .Values }}
{{- if .schedule.enabled }}
{{- include "scaled-app.checkTime" (dict "key" "schedule.start" "time" .schedule.start) }}
{{- include "scaled-app.checkTime" (dict "key" "schedule.end" "time" .schedule.end) }}
{{- include "scaled-app.checkWeekdays" .schedule.weekdays }}
{{- include "scaled-app.checkWindow" .schedule }}
{{- if gt (int .schedule.desiredReplicas) (int .maxReplicaCount) }}
{{- fail (printf "schedule.desiredReplicas: %v is above maxReplicaCount %v; lower it" .schedule.desiredReplicas .maxReplicaCount) }}
{{- end }}
{{- end }}
{{- if gt (int .minReplicaCount) (int .maxReplicaCount) }}
{{- fail (printf "minReplicaCount: %v is above maxReplicaCount %v; lower it" .minReplicaCount .maxReplicaCount) }}
{{- end }}
{{- include "scaled-app.checkTriggers" . }}
{{- if and .environment.subdivision (not .environment.country) }}
{{- fail (printf "environment.subdivision: %q needs environment.country" .environment.subdivision) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "scaled-app.checkTime" -}}
{{- if not (regexMatch "^[0-5]?[0-9] ([01]?[0-9]|2[0-3])$" .time) }}
{{- fail (printf "%s: %q is not a time of day; write minute and hour as cron does: \"30 08\" is 08:30" .key .time) }}
{{- end }}
{{- end }}

{{/* Days and ranges of days; in KEDA's cron Sunday is 0 and never 7, and no range begins after its end. */}}
{{- define "scaled-app.checkWeekdays" -}}
{{- $days := dict "0" 0 "1" 1 "2" 2 "3" 3 "4" 4 "5" 5 "6" 6 "SUN" 0 "MON" 1 "TUE" 2 "WED" 3 "THU" 4 "FRI" 5 "SAT" 6 }}
{{- if ne . "*" }}
{{- range $part := splitList "," . }}
{{- $ends := splitList "-" (upper $part) }}
{{- $known := and (le (len $ends) 2) (hasKey $days (first $ends)) (hasKey $days (last $ends)) }}
{{- if not $known }}
{{- fail (printf "schedule.weekdays: %q is no day and no range of days; write \"1-5\", \"MON-FRI\", \"0,6\" or \"*\"" $part) }}
{{- else if gt (get $days (first $ends)) (get $days (last $ends)) }}
{{- fail (printf "schedule.weekdays: %q begins after its end; write two ranges, the second from 0 (Sunday) on" $part) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A window over midnight ends on the next day: with the same days in both fields, Friday's would last until Monday. */}}
{{- define "scaled-app.checkWindow" -}}
{{- $start := splitList " " .start }}{{ $end := splitList " " .end }}
{{- $opens := add (mul 60 (atoi (last $start))) (atoi (first $start)) }}
{{- $closes := add (mul 60 (atoi (last $end))) (atoi (first $end)) }}
{{- if eq $opens $closes }}
{{- fail (printf "schedule.start and schedule.end: both are %q; a window needs two different times" .start) }}
{{- else if and (gt $opens $closes) (ne .weekdays "*") }}
{{- fail (printf "schedule.weekdays: %q with a window over midnight; use \"*\", or write a cron trigger into extraTriggers" .weekdays) }}
{{- end }}
{{- end }}

{{/* What wakes it: an Environment gives back what it has put to sleep, and wakes nothing that is at zero by itself. */}}
{{- define "scaled-app.checkTriggers" -}}
{{- $wakes := .schedule.enabled }}
{{- range .extraTriggers }}{{ $wakes = or $wakes (not (has .type (list "cpu" "memory"))) }}{{ end }}
{{- if not (or .schedule.enabled .memory.enabled .extraTriggers) }}
{{- fail "extraTriggers: there is no trigger at all; enable schedule or memory, or give one" }}
{{- else if and (not $wakes) (eq (int .minReplicaCount) 0) }}
{{- fail "minReplicaCount: 0 needs a trigger that can wake the application; cpu and memory cannot: enable schedule, or write 1" }}
{{- else if and .fallback (not $wakes) }}
{{- fail "fallback: is for triggers that can fail; cpu and memory are read by the HPA itself: leave it out, or give another trigger" }}
{{- end }}
{{- end }}
