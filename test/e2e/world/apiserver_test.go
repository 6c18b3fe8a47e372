package world

import "testing"

func TestAWatchHasToTellOfEachWriteOnceAndInOrder(t *testing.T) {
	for name, row := range map[string]struct {
		acknowledged, seen []string
		fine               bool
	}{
		"each one":                     {[]string{"9", "10", "12"}, []string{"9", "10", "12"}, true},
		"not of the last one":          {[]string{"9", "10", "12"}, []string{"9", "10"}, false},
		"not of one between":           {[]string{"9", "10", "12"}, []string{"9", "12"}, false},
		"of one twice":                 {[]string{"9", "10", "12"}, []string{"9", "10", "10", "12"}, false},
		"of the last one twice":        {[]string{"9", "10"}, []string{"9", "10", "10"}, false},
		"in another order":             {[]string{"9", "10"}, []string{"10", "9"}, false},
		"of what was not acknowledged": {[]string{"9", "10"}, []string{"9", "10", "11"}, false},
		"of writes that went backward": {[]string{"10", "9"}, []string{"10", "9"}, false},
	} {
		if err := checkSeen(row.acknowledged, row.seen); (err == nil) != row.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
