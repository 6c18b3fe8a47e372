{{- /* Each section of each page: its page, its heading, its address and its words. */ -}}
{{- $entries := slice -}}
{{- range site.Pages -}}
  {{- if .File -}}
    {{- $page := partial "title.html" . -}}
    {{- $address := strings.TrimPrefix "/" (partial "address.html" .) -}}
    {{- $content := partial "content.html" . | replaceRE ` <a class="anchor"[^>]*>#</a>` "" | replaceRE `<h[1-6] id="` "\x00$0" -}}
    {{- range split $content "\x00" -}}
      {{- $anchor := "" -}}{{- $heading := "" -}}{{- $text := . -}}
      {{- range findRESubmatch `(?s)^<h([1-6]) id="([^"]*)">(.*?)</h[1-6]>(.*)$` . 1 -}}
        {{- $heading = index . 3 | plainify | htmlUnescape -}}
        {{- if ne (index . 1) "1" -}}{{- $anchor = printf "#%s" (index . 2) -}}{{- end -}}
        {{- $text = index . 4 -}}
      {{- end -}}
      {{- $words := $text | replaceRE `</(td|th|li|p|pre)>|<br>` " $0" | plainify | htmlUnescape | strings.TrimSpace | replaceRE `\s+` " " -}}
      {{- if or $heading $words -}}
        {{- $entries = $entries | append (dict "page" $page "heading" $heading "address" (printf "%s%s" $address $anchor) "text" $words) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
searchIndex({{ $entries | jsonify }});
