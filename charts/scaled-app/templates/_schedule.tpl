{{/* The schedule for people: its window in words, and what comes next. Words as those of `keda-py validate --notes`. */}}

{{/* The days of schedule.weekdays, from Monday, 0, as a JSON list. */}}
{{- define "scaled-app.days" -}}
{{- $numbers := dict "MON" 0 "TUE" 1 "WED" 2 "THU" 3 "FRI" 4 "SAT" 5 "SUN" 6 "1" 0 "2" 1 "3" 2 "4" 3 "5" 4 "6" 5 "0" 6 }}
{{- $days := dict }}
{{- range $part := splitList "," (ternary "0-6" (upper .) (eq . "*")) }}
{{- $ends := splitList "-" $part }}
{{- $first := mod (add 1 (get $numbers (first $ends))) 7 }}{{ $last := mod (add 1 (get $numbers (last $ends))) 7 }}
{{- range $day := untilStep (int $first) (int (add1 $last)) 1 }}{{ $_ := set $days (toString (mod (add 6 $day) 7)) true }}{{ end }}
{{- end }}
{{- keys $days | sortAlpha | toJson }}
{{- end }}

{{/* "Mon-Fri", "Mon, Wed", "daily". */}}
{{- define "scaled-app.daysInWords" -}}
{{- $names := list "Mon" "Tue" "Wed" "Thu" "Fri" "Sat" "Sun" }}
{{- $days := fromJsonArray (include "scaled-app.days" .) }}
{{- $words := list }}
{{- range $day := untilStep 0 7 1 }}
{{- $before := has (toString (sub $day 1)) $days }}{{ $after := has (toString (add1 $day)) $days }}
{{- if has (toString $day) $days }}
{{- $inside := and $before $after }}
{{- $ends := and $before (not $after) (has (toString (sub $day 2)) $days) }}
{{- if $ends }}{{ $words = append (initial $words) (printf "%s-%s" (last $words) (index $names $day)) }}
{{- else if not $inside }}{{ $words = append $words (index $names $day) }}{{ end }}
{{- end }}
{{- end }}
{{- ternary "daily" (join ", " $words) (eq (len $days) 7) }}
{{- end }}

{{/* "08:30" of "30 8". */}}
{{- define "scaled-app.clock" -}}
{{- $parts := splitList " " . }}{{ printf "%02d:%02d" (atoi (last $parts)) (atoi (first $parts)) }}
{{- end }}

{{/* Minutes of the day of "30 8". */}}
{{- define "scaled-app.minutes" -}}
{{- $parts := splitList " " . }}{{ add (mul 60 (atoi (last $parts))) (atoi (first $parts)) }}
{{- end }}

{{/* "Mon-Fri 08:30-19:30 Asia/Seoul, 55 h a week" */}}
{{- define "scaled-app.window" -}}
{{- $opens := atoi (include "scaled-app.minutes" .start) }}{{ $closes := atoi (include "scaled-app.minutes" .end) }}
{{- $length := mod (add 1440 (sub $closes $opens)) 1440 }}
{{- $hours := divf (mul $length (len (fromJsonArray (include "scaled-app.days" .weekdays)))) 60 }}
{{- $end := ternary "24:00" (include "scaled-app.clock" .end) (eq $closes 0) }}
{{- include "scaled-app.daysInWords" .weekdays }} {{ include "scaled-app.clock" .start }}-{{ $end }} {{ .timezone }}, {{ printf "%.4g" $hours }} h a week
{{- end }}

{{/* "The window is open now, and closes Fri 19:30."; nothing where Helm does not know the time zone: it takes UTC then. */}}
{{- define "scaled-app.next" -}}
{{- $now := now }}
{{- if or (ne (dateInZone "MST" $now .timezone) "UTC") (has .timezone (list "UTC" "Etc/UTC" "Etc/UCT" "UCT" "Zulu" "Universal")) }}
{{- $names := list "Mon" "Tue" "Wed" "Thu" "Fri" "Sat" "Sun" }}
{{- $numbers := dict "Mon" 0 "Tue" 1 "Wed" 2 "Thu" 3 "Fri" 4 "Sat" 5 "Sun" 6 }}
{{- $at := add (mul 1440 (get $numbers (dateInZone "Mon" $now .timezone))) (atoi (include "scaled-app.minutes" (dateInZone "4 15" $now .timezone))) }}
{{- $start := int64 0 }}{{ $end := int64 0 }}
{{- range $day := fromJsonArray (include "scaled-app.days" .weekdays) }}
{{- $opens := add (mul 1440 (atoi $day)) (atoi (include "scaled-app.minutes" $.start)) }}
{{- $closes := add (mul 1440 (atoi $day)) (atoi (include "scaled-app.minutes" $.end)) }}
{{- $start = min (default 10080 $start) (add1 (mod (add 10079 (sub $opens $at)) 10080)) }}
{{- $end = min (default 10080 $end) (add1 (mod (add 10079 (sub $closes $at)) 10080)) }}
{{- end }}
{{- $change := min $start $end }}
{{- $when := printf "%s %s" (index $names (int (mod (div (add $at $change) 1440) 7))) (include "scaled-app.clock" (ternary .end .start (lt $end $start))) }}
{{- ternary (printf "The window is open now, and closes %s." $when) (printf "The window is closed now, and opens %s." $when) (lt $end $start) }}
{{- end }}
{{- end }}
