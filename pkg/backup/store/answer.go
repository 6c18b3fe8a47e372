package store

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"google.golang.org/api/googleapi"
)

// answer is an error of the libraries in words for people: what it means to them, then what the store said. The text of
// the libraries, with the IDs of the request, is for the log: see Whole.
type answer struct {
	kind, whole error
	says        string
}

func (a answer) Error() string { return a.kind.Error() + ": " + a.says }

// Unwrap gives both.
func (a answer) Unwrap() []error { return []error{a.kind, a.whole} }

// Whole is the text of the libraries of an error of this package where that says more, such as the IDs by which the
// store's operator finds the request; otherwise it is empty.
func Whole(err error) string {
	var a answer
	if !errors.As(err, &a) || a.whole.Error() == a.says {
		return ""
	}
	return a.whole.Error()
}

// inShort is what the store answered, with its code, or why it gave no answer.
func inShort(err error) string {
	var (
		google  *googleapi.Error
		azure   *azcore.ResponseError
		s3      *smithyhttp.ResponseError
		network *url.Error
	)
	switch {
	case errors.As(err, &google):
		return ofGoogle(google)
	case errors.As(err, &azure):
		return ofAzure(azure)
	case errors.As(err, &s3) && s3.HTTPStatusCode() >= http.StatusMultipleChoices:
		return ofS3(err, s3.HTTPStatusCode())
	case errors.As(err, &network):
		return ofNetwork(network)
	}
	return err.Error()
}

// ofS3 names who was asked for what: credentials may come from another service than the store.
func ofS3(err error, status int) string {
	var code, message, asked string
	var operation *smithy.OperationError
	for inner := err; errors.As(inner, &operation); inner = operation.Err {
		asked = operation.Service() + " answers " + operation.Operation()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code, message = api.ErrorCode(), api.ErrorMessage()
	}
	if asked == "" {
		asked = "it answers"
	}
	return asked + " with " + withCode(status, code, message)
}

func ofGoogle(err *googleapi.Error) string {
	code := ""
	if len(err.Errors) > 0 {
		code = err.Errors[0].Reason
	}
	return "Google answers with " + withCode(err.Code, code, err.Message)
}

// ofAzure reads the body, which has the message, and behind that what no person needs.
func ofAzure(err *azcore.ResponseError) string {
	var body struct{ Message string }
	asked := "Azure answers"
	if response := err.RawResponse; response != nil {
		if text, failed := runtime.Payload(response); failed == nil {
			_ = xml.Unmarshal(text, &body) // the answer to HEAD has none
		}
		if response.Request != nil {
			asked += " " + response.Request.Method
		}
	}
	message, _, _ := strings.Cut(body.Message, "\n")
	return asked + " with " + withCode(err.StatusCode, err.ErrorCode, message)
}

// withCode is a status with the store's own word for it, and its message where that says more.
func withCode(status int, code, message string) string {
	if code == "" {
		code = http.StatusText(status)
	}
	text := fmt.Sprintf("%d (%s", status, code)
	if message = strings.TrimSuffix(strings.TrimSpace(message), "."); message != "" && message != code {
		text += ": " + message
	}
	return text + ")"
}

// ofNetwork names the host: the address of the object has its key, which the callers name.
func ofNetwork(err *url.Error) string {
	host := "the store"
	if address, failed := url.Parse(err.URL); failed == nil && address.Host != "" {
		host = address.Host
	}
	return fmt.Sprintf("the request to %s failed: %v", host, err.Err)
}
