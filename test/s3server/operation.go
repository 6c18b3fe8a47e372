package s3server

import (
	"net/http"
	"strings"
)

// Operation is a call of the S3 API, by its name there.
type Operation string

// The operations of a client that keeps objects. Every other one is Other.
const (
	ListObjects             Operation = "ListObjects"
	HeadBucket              Operation = "HeadBucket"
	PutObject               Operation = "PutObject"
	GetObject               Operation = "GetObject"
	HeadObject              Operation = "HeadObject"
	DeleteObject            Operation = "DeleteObject"
	CreateMultipartUpload   Operation = "CreateMultipartUpload"
	UploadPart              Operation = "UploadPart"
	CompleteMultipartUpload Operation = "CompleteMultipartUpload"
	AbortMultipartUpload    Operation = "AbortMultipartUpload"
	Other                   Operation = "Other"
)

// Request is one that a proxy, or a stranger, was sent.
type Request struct {
	Operation Operation
	// Key is the object's; empty if the request is about a bucket.
	Key string
	// Signed says that it carries a signature, which only the server it is meant for should see.
	Signed bool
	// Summed says that it carries a sum of what it uploads.
	Summed bool
	// Conditional says that it is to make an object, and to overwrite none.
	Conditional bool
}

func parseRequest(r *http.Request) Request {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	signed := r.Header.Get("Authorization") != "" || r.URL.Query().Has("X-Amz-Signature")
	return Request{Operation: operationOf(r, key), Key: key, Signed: signed, Summed: isSummed(r.Header),
		Conditional: r.Header.Get("If-None-Match") != ""}
}

func isSummed(header http.Header) bool {
	for name := range header {
		if name == "Content-Md5" || strings.HasPrefix(name, "X-Amz-Checksum-") {
			return true
		}
	}
	return false
}

// operationOf knows them as S3 does: by the method, whether there is a key, and one word of the query.
func operationOf(r *http.Request, key string) Operation {
	what := r.Method
	if key == "" {
		what += " bucket"
	}
	for _, word := range []string{"uploads", "partNumber", "uploadId", "delete", "acl", "tagging", "versioning", "location", "policy"} {
		if r.URL.Query().Has(word) {
			what += " " + word
			break
		}
	}
	if o, known := operations[what]; known {
		return o
	}
	return Other
}

var operations = map[string]Operation{
	"GET bucket":      ListObjects,
	"HEAD bucket":     HeadBucket,
	"PUT":             PutObject,
	"GET":             GetObject,
	"HEAD":            HeadObject,
	"DELETE":          DeleteObject,
	"POST uploads":    CreateMultipartUpload,
	"PUT partNumber":  UploadPart,
	"POST uploadId":   CompleteMultipartUpload,
	"DELETE uploadId": AbortMultipartUpload,
}
