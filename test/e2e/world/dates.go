package world

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Dates stands between an operator of the story and the API server, and dates what that answers.
type Dates struct {
	ahead    atomic.Int64
	answered atomic.Int64 // with a date that is not the API server's
}

// BetweenAnswers puts one there. The operator is started again for it. A client sends no token where there is no TLS, so
// that is sent from here.
func (o *Operator) BetweenAnswers(ctx context.Context) *Dates {
	ginkgo.GinkgoHelper()
	d := &Dates{}
	server, err := url.Parse(o.story.Config.Host)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(o.story.Config))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	config, err := clientcmd.LoadFromFile(o.kubeconfig)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	bearer := "Bearer " + config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Header.Set("Authorization", bearer)
		},
		Transport: transport, FlushInterval: -1, ModifyResponse: d.date, ErrorLog: log.New(io.Discard, "", 0),
	})
	ginkgo.DeferCleanup(proxy.CloseClientConnections)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = proxy.URL, "", nil
	}
	gomega.Expect(clientcmd.WriteToFile(*config, o.kubeconfig)).To(gomega.Succeed())
	o.Restart()
	return d
}

// Ahead dates each answer from now on so far ahead, and waits until some were.
func (d *Dates) Ahead(ctx context.Context, by time.Duration) {
	ginkgo.GinkgoHelper()
	d.ahead.Store(int64(by))
	was := d.answered.Load()
	gomega.Eventually(ctx, func() int64 { return d.answered.Load() - was }).WithTimeout(Patience).Should(
		gomega.BeNumerically(">", 5), "answers with another date")
}

func (d *Dates) date(answer *http.Response) error {
	if ahead := time.Duration(d.ahead.Load()); ahead != 0 {
		answer.Header.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		d.answered.Add(1)
	}
	return nil
}
