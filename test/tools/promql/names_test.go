package promql

import (
	"slices"
	"testing"
)

func TestTheMetricsOfAQueryAreFoundAndNothingElse(t *testing.T) {
	for query, want := range map[string][]string{
		`up`: {"up"},
		`time() - max by (namespace, name) (a_seconds) < 15 * 60`:                                                     {"a_seconds"},
		`max by (name) (a{type="b(c)d{e}"}) == 1 and on (name) b unless on (name) c or absent(d{})`:                   {"a", "b", "c", "d"},
		`histogram_quantile(0.99, sum by (pod, le) (rate(x_seconds_bucket{pod=~"a|b"}[5m])))`:                         {"x_seconds"},
		`label_replace(sum(a) by (pod), "name", "$1", "pod", "(.*)") * on (pod) group_left (name) group by (pod) (b)`: {"a", "b"},
		`1 - a / (b > bool 0) offset 5m`: {"a", "b"},
		`misspelt (a)`:                   {"a"},
		`a + unknown_word`:               {"a", "unknown_word"},
	} {
		if got := Metrics(query); !slices.Equal(got, want) {
			t.Errorf("%s\nreads %q, want %q", query, got, want)
		}
	}
}
