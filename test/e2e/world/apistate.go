package world

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Streamed is how many lists the API server has read from etcd as one stream since it was started, without those that
// failed.
func (a *APIServer) Streamed(ctx context.Context) int {
	ginkgo.GinkgoHelper()
	text, err := a.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	families, err := read(bytes.NewReader(text))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(families).To(gomega.HaveKey("etcd_requests_total"))
	return streams(families["etcd_requests_total"]) - streams(families["etcd_request_errors_total"])
}

// streams is how much a family counts of requests for streams. One that is not there has counted nothing.
func streams(family *dto.MetricFamily) int {
	counted := 0
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "operation" && label.GetValue() == "listStream" {
				counted += int(metric.GetCounter().GetValue())
			}
		}
	}
	return counted
}

// MakeMarker creates a ConfigMap of this name, beside those of clients that write.
func (a *APIServer) MakeMarker(ctx context.Context, name string) {
	ginkgo.GinkgoHelper()
	_, err := a.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// Markers are the names of those that are there.
func (a *APIServer) Markers(ctx context.Context) []string {
	ginkgo.GinkgoHelper()
	list, err := a.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// MakeEvent waits until the API server takes an Event, which it keeps by a lease of etcd, and says how long that took
// and what attempts were told until then.
func (a *APIServer) MakeEvent(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	began, refused := time.Now(), told{}
	gomega.Eventually(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "seen-"},
			InvolvedObject: corev1.ObjectReference{Kind: "Namespace", Name: "default", Namespace: "default"},
		}
		_, err := a.client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, event, metav1.CreateOptions{})
		if err != nil {
			refused.add(err)
		}
		return err
	}).WithTimeout(Patience).Should(gomega.Succeed(), "the API server takes an Event")
	return fmt.Sprintf("an Event was taken after %s; attempts were told:%s", time.Since(began).Round(time.Millisecond), refused)
}
