// A client of Pyroscope's debug-info service, made with the client that Pyroscope publishes:
//
//	client URL proto|json [gzip] < COMMANDS
//
// A command is a line: should ID TYPE, upload ID FILE, finished ID, list, delete ID. The answer to each is a line of JSON:
// {"code":...,"message":...} for an error, and what the call returned otherwise.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	v1 "github.com/grafana/pyroscope/api/gen/proto/go/debuginfo/v1alpha1"
	"github.com/grafana/pyroscope/api/gen/proto/go/debuginfo/v1alpha1/debuginfov1alpha1connect"
)

type session struct {
	url    string
	client debuginfov1alpha1connect.DebuginfoServiceClient
}

func main() {
	var options []connect.ClientOption
	for _, word := range os.Args[2:] {
		switch word {
		case "json":
			options = append(options, connect.WithProtoJSON())
		case "gzip":
			options = append(options, connect.WithSendGzip())
		}
	}
	s := session{os.Args[1], debuginfov1alpha1connect.NewDebuginfoServiceClient(http.DefaultClient, os.Args[1], options...)}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		result, err := s.run(strings.Fields(lines.Text()))
		if err != nil {
			result = map[string]any{"code": connect.CodeOf(err).String(), "message": err.Error()}
		}
		text, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}

func (s session) run(words []string) (any, error) {
	ctx := context.Background()
	switch words[0] {
	case "should":
		kind, _ := strconv.Atoi(words[2])
		file := &v1.FileMetadata{GnuBuildId: words[1], Name: "program", Type: v1.FileMetadata_Type(kind)}
		reply, err := s.client.ShouldInitiateUpload(ctx, connect.NewRequest(&v1.ShouldInitiateUploadRequest{File: file}))
		if err != nil {
			return nil, err
		}
		return map[string]any{"wanted": reply.Msg.ShouldInitiateUpload, "reason": reply.Msg.Reason}, nil
	case "upload":
		return s.upload(words[1], words[2])
	case "finished":
		_, err := s.client.UploadFinished(ctx, connect.NewRequest(&v1.UploadFinishedRequest{GnuBuildId: words[1]}))
		return map[string]any{}, err
	case "delete":
		_, err := s.client.DeleteDebuginfo(ctx, connect.NewRequest(&v1.DeleteDebuginfoRequest{GnuBuildId: words[1]}))
		return map[string]any{}, err
	case "list":
		return s.list(ctx)
	}
	return nil, fmt.Errorf("no such command: %s", words[0])
}

// The body comes from a file, whose length the HTTP client does not know: it is sent in chunks.
func (s session) upload(id, path string) (any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reply, err := http.Post(s.url+"/debuginfo.v1alpha1.DebuginfoService/Upload/"+id, "", file)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	return map[string]any{"status": reply.StatusCode}, err
}

func (s session) list(ctx context.Context) (any, error) {
	reply, err := s.client.ListDebuginfo(ctx, connect.NewRequest(&v1.ListDebuginfoRequest{}))
	if err != nil {
		return nil, err
	}
	files := []any{}
	for _, object := range reply.Msg.Object {
		files = append(files, []any{object.File.GnuBuildId, object.File.Type.String(), object.State.String(), object.SizeBytes,
			object.FinishedAt.AsTime().Year()})
	}
	return map[string]any{"files": files}, nil
}
