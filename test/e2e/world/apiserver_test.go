package world

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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

func TestWhatAttemptsAreToldIsCountedByItsKind(t *testing.T) {
	conflict := apierrors.NewInternalError(errors.New("dial tcp 127.0.0.1:2379: connect: connection refused"))
	for said, err := range map[string]error{
		"no answer in time": fmt.Errorf("Post https://127.0.0.1:1: %w", context.DeadlineExceeded),
		"500 Internal error occurred: dial tcp …: connect: connection refused": fmt.Errorf("watching: %w", conflict),
		"etcd … has no … at …": errors.New("etcd 10.0.0.7 has no written-x7k2p at 5000000123"),
	} {
		if kind := kindOf(err); kind != said {
			t.Errorf("%v is counted as %q", err, kind)
		}
	}
}
