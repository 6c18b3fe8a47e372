package kit

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// noManager is a manager without a Kubernetes.
type noManager struct{ ctrl.Manager }

func (noManager) GetClient() client.Client                       { return nil }
func (noManager) GetAPIReader() client.Reader                    { return nil }
func (noManager) GetEventRecorder(string) recorder.EventRecorder { return nil }

func TestAFrameHasTheClockOfThisMachineBesideThatOfTheAPIServer(t *testing.T) {
	ahead := func() time.Time { return time.Now().Add(25 * time.Hour) }
	frame := NewFrame(noManager{}, Install{Now: ahead})
	if off := frame.Now().Sub(frame.Own()).Round(time.Minute); off != 25*time.Hour {
		t.Errorf("the two are %s apart", off)
	}
}
