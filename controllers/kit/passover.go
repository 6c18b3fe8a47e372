package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// passesOver answers a request that is over the bound without a look at its objects: to decode them costs more than all
// else. What it does not know the shape of it hands on, and what is over the bound by then gets the same answer there.
type passesOver[T any, P interface {
	*T
	client.Object
}] struct {
	admits admits[T, P]
	next   http.Handler
}

// headSize holds all that the API server writes before the user and the objects.
const headSize = 4 << 10

func (p passesOver[T, P]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.admits.webhook.isFull() {
		p.next.ServeHTTP(w, r)
		return
	}
	body := bufio.NewReaderSize(r.Body, headSize)
	head, _ := body.Peek(headSize) // an error is met again by who reads on
	if request, ok := readHead(head); ok && p.admits.looksAfter(request.Namespace) {
		p.answer(w, request)
		return
	}
	r.Body = io.NopCloser(body) // the server closes its own
	p.next.ServeHTTP(w, r)
}

func (p passesOver[T, P]) answer(w http.ResponseWriter, request admission.Request) {
	response := p.admits.passedOver()
	err := errors.Join(response.Complete(request), json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()},
		Response: &response.AdmissionResponse}))
	if err != nil { // the API server is gone
		log.Log.Error(err, "webhook", "kind", p.admits.kind.Kind, "namespace", request.Namespace)
	}
}

// readHead reads what an answer needs from the first bytes of a review. The API server writes them in the order of the
// fields (kubernetes/kubernetes:staging/src/k8s.io/api/admission/v1/types.go).
func readHead(head []byte) (request admission.Request, ok bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	var version string
	ok = enter(d) && seek(d, "apiVersion", &version) && version == admissionv1.SchemeGroupVersion.String() &&
		seek(d, "request", nil) && enter(d) && seek(d, "uid", &request.UID) && request.UID != "" &&
		seek(d, "namespace", &request.Namespace)
	return request, ok
}

func enter(d *json.Decoder) bool {
	token, err := d.Token()
	return err == nil && token == json.Delim('{')
}

// seek reads on to a key of the object that it stands in, and the key's value unless into is nil.
func seek(d *json.Decoder, key string, into any) bool {
	for d.More() {
		name, err := d.Token()
		if err == nil && name == key {
			return into == nil || d.Decode(into) == nil
		}
		var skipped json.RawMessage
		if err != nil || d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
