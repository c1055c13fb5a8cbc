// Sources: text form, loading, checks of shape and count.
#include "tensor/source.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/npy.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;
using testing::TemporaryFiles;

TEST(TensorSource, TextRoundTrips) {
  for (const char* text :
       {"file(\"cora.adj.mtx\")", "file(\"a b\\\"\\\\.mtx\", nnz=10)",
        "file(\"w.smtx\", values=int(-3,3), seed=4, nnz=9)", "onnx(\"gcn.onnx\", \"layer.0/W\")",
        "onnx(\"gcn.onnx\", \"W\", nnz=3)",
        "onnx(\"gcn.onnx\", \"W.1\", derived=\"bind e=\\\"a,b\\\"\", nnz=3)", "values()",
        "values(nnz=0)", "values(1,-2.5,inf,nan)", "values(1,2,nnz=2)", "values(nan,nnz=1)",
        "uniform(shape=[1000,1000],density=0.05,seed=1)", "ones()", "ones(nnz=0)",
        "arange(shape=[],step=2)",
        "bigbird(shape=[2,64,64],block=16,random=2,values=uniform(0,1),seed=7,nnz=100)"}) {
    EXPECT_EQ(to_string(parse_source(text)), text);
  }
  EXPECT_EQ(to_string(Source{}), "");
}

TEST(TensorSource, CanonicalOrderAndBlanks) {
  EXPECT_EQ(to_string(parse_source(" uniform ( seed = 1 , nnz=4, density=0.5,shape=[ 2 , 4 ] ) ")),
            "uniform(shape=[2,4],density=0.5,seed=1,nnz=4)");
  EXPECT_EQ(to_string(parse_source("values( 1 , 2e0 )")), "values(1,2)");
}

TEST(TensorSource, BindingsAreFilesOrSources) {
  EXPECT_EQ(to_string(parse_binding("data/x (1).npy")), "file(\"data/x (1).npy\")");
  EXPECT_EQ(to_string(parse_binding("cora.mtx")), "file(\"cora.mtx\")");
  EXPECT_EQ(to_string(parse_binding("ones(shape=[2])")), "ones(shape=[2])");
  expect_contains(error_of([] { parse_binding("unifrom(density=1)"); }), "did you mean 'uniform'?");
  expect_contains(error_of([] { parse_binding(""); }), "expected a file name");
}

TEST(TensorSource, RejectsBadText) {
  const auto fault = [](const char* text) { return error_of([&] { parse_source(text); }); };
  expect_contains(fault("unifrm(density=1)"),
                  "1 1:1 tensor source: unknown source 'unifrm' (did you mean");
  expect_contains(fault("zzzzzz(density=1)"), "power_law, rmat, block_diagonal, bigbird");
  expect_contains(fault("uniform(densty=1)"), "unknown key 'densty' (did you mean 'density'?)");
  expect_contains(fault("uniform(density=1,density=1)"), "key 'density' is given twice");
  expect_contains(fault("file(\"a.mtx\", shape=[1])"), "unknown key 'shape'");
  expect_contains(fault("onnx(\"a.onnx\", \"W\", seed=1)"), "unknown key 'seed'");
  expect_contains(fault("file(a.mtx)"), "1 1:6 tensor source: expected a quoted string");
  expect_contains(fault("file(\"a.mtx)"), "a string without its closing quote");
  expect_contains(fault("file(\"a\\q\")"), "unknown escape");
  expect_contains(fault("file(\"a.mtx\") x"), "text after the source");
  expect_contains(fault("values(1,)"), "expected a number");
  expect_contains(fault("values(1e99)"), "within the range of f32");
  expect_contains(fault("uniform(shape=[1,2)"), "brackets that do not match");
  expect_contains(fault("uniform(nnz=-1)"), "nnz expects one number from 0");
  expect_contains(fault("uniform(nnz=1,nnz=1)"), "nnz expects one number from 0");
  expect_contains(fault("uniform(density=)"), "expected a value");
  expect_contains(fault("uniform(values=\"int(0,9)\")"),
                  "a value has no quotes, expected values=int(0,9)");
  expect_contains(fault("uniform"), "expected '('");
  expect_contains(fault(""), "expected a name");
  expect_contains(fault("uniform("), "expected a name");
}

class Loading : public ::testing::Test {
 protected:
  Loading() {
    files_.write("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 2\n1 2\n3 1\n");
    const std::vector<float> elements = {1, 0, 2, 0};
    files_.write("x.npy", npy_bytes(elements, std::vector<int64_t>{2, 2}));
    options_.base_dir = files_.path("");
  }
  Storage load_text(const char* text, const std::optional<std::vector<int64_t>>& shape,
                    const char* format) {
    return load(parse_source(text), shape, parse_format(format), 0, options_);
  }
  std::string fault(const char* text,
                    const std::optional<std::vector<int64_t>>& shape = std::nullopt) {
    return error_of([&] { read_raw(parse_source(text), shape, options_); });
  }

  TemporaryFiles files_;
  LoadOptions options_;
};

TEST_F(Loading, FilesRelativeToTheBaseDirectory) {
  EXPECT_EQ(load_text("file(\"a.mtx\", nnz=2)", {{3, 4}}, "dense,compressed").stored(), 2);
  EXPECT_EQ(load_text("file(\"a.mtx\")", {{-1, -1}}, "dense,dense").stored(), 12);
  EXPECT_EQ(load_text("file(\"x.npy\", nnz=2)", std::nullopt, "dense,compressed").stored(), 2);
  EXPECT_EQ(to_string(default_format(read_raw(parse_source("file(\"a.mtx\")"), {}, options_))),
            "dense,compressed");
  EXPECT_EQ(to_string(default_format(read_raw(parse_source("file(\"x.npy\")"), {}, options_))),
            "dense,dense");
}

TEST_F(Loading, ChecksShapeAndCount) {
  expect_contains(fault("file(\"a.mtx\")", {{4, 3}}), "has shape [3,4], expected [4,3]");
  expect_contains(fault("file(\"a.mtx\")", {{3}}), "has shape [3,4], expected [3]");
  expect_contains(fault("file(\"x.npy\")", std::vector<int64_t>{}), "expected []");
  expect_contains(fault("file(\"a.mtx\", nnz=3)"), "has 2 entries, not the declared 3");
  expect_contains(fault("file(\"a.csv\")"),
                  "expected .mtx, .mtx.gz, .tns, .smtx, .npy, .npz or tensor_NAME_mode_shape");
  EXPECT_EQ(fault("file(\"none.mtx\")").substr(0, 2), "3 ");
}

/// Of data that list every element, the fill decides which are entries.
TEST_F(Loading, CountsWhatIsUnlikeTheFill) {
  const auto load_filled = [&](const char* text, float fill) {
    return load(parse_source(text), std::nullopt, parse_format("dense,compressed"), fill, options_);
  };
  EXPECT_EQ(load_filled("file(\"x.npy\", nnz=2)", 0).stored(), 2);
  EXPECT_EQ(load_filled("file(\"x.npy\", nnz=3)", 1).stored(), 3);
  expect_contains(error_of([&] { load_filled("file(\"x.npy\", nnz=2)", 1); }),
                  "has 3 entries, not the declared 2");
  EXPECT_EQ(load_filled("file(\"a.mtx\", nnz=2)", 1).stored(), 2);
}

/// Whether all that is stored is the same, bit for bit.
bool identical(const Storage& a, const Storage& b) {
  const auto same_level = [](const Level& x, const Level& y) {
    return x.kind == y.kind && x.pos == y.pos && x.crd == y.crd && x.words == y.words;
  };
  return a.format == b.format && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0 &&
         std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end(), same_level);
}

/// What is stored of a source does not depend on what else of it is held.
TEST_F(Loading, AnotherFormatOfHeldDataIsAsIfLoaded) {
  const std::vector<float> elements = {1, -0.0F, 2, 0, -1e-12F, 3};
  files_.write("z.npy", npy_bytes(elements, std::vector<int64_t>{2, 3}));
  files_.write("z.mtx",
               "%%MatrixMarket matrix coordinate real general\n2 3 4\n"
               "1 1 1\n1 2 -0.0\n2 1 0\n2 2 -1e-12\n");
  const std::vector<int64_t> shape = {2, 3};
  for (const char* file : {"z.npy", "z.mtx"}) {
    const Source source = parse_source(std::string("file(\"") + file + "\")");
    for (const ElementType type : {ElementType::f32, ElementType::f16}) {
      options_.element = type;
      for (const char* held : {"dense,dense", "dense,compressed", "compressed,compressed@1,0",
                               "dense,bitvector", "dense,compressed[2x2]", "compressed,dense"}) {
        const auto first = load_shared(source, shape, parse_format(held), 0, options_);
        for (const char* text : {"dense,dense", "dense,dense@1,0", "dense,compressed",
                                 "compressed,singleton", "compressed,dense"}) {
          const Format format = parse_format(text);
          const auto shared = load_shared(source, shape, format, 0, options_);
          EXPECT_TRUE(identical(*shared, load(source, shape, format, 0, options_)))
              << text << " after " << held << " of " << file;
        }
      }
    }
  }
}

/// Only where every element is stored has it a sign of its own.
TEST_F(Loading, NegativeZeroStaysInDenseStorageAlone) {
  files_.write("z.mtx",
               "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 -0.0\n1 2 -1e-12\n");
  const auto signs = [&](const char* format, ElementType type) {
    options_.element = type;
    const Storage storage = load_text("file(\"z.mtx\")", std::nullopt, format);
    return std::vector<bool>{std::signbit(storage.values[0]), std::signbit(storage.values[1])};
  };
  EXPECT_EQ(signs("dense,dense", ElementType::f16), (std::vector<bool>{true, true}));
  EXPECT_EQ(signs("dense,compressed", ElementType::f32), (std::vector<bool>{false, true}));
  EXPECT_EQ(signs("dense,compressed", ElementType::f16), (std::vector<bool>{false, false}));
}

TEST_F(Loading, DuplicatesNameTheFile) {
  files_.write("d.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 2\n1 2\n1 2\n");
  try {
    load_text("file(\"d.mtx\")", std::nullopt, "dense,compressed");
    FAIL() << "no error";
  } catch (const Error& error) {
    expect_contains(error.diagnostics()[0].where.file, "d.mtx");
  }
}

TEST_F(Loading, ValuesOfSparseFilesCanBeReplaced) {
  const Storage drawn =
      load_text("file(\"a.mtx\", values=int(2,9), seed=1)", {}, "dense,compressed");
  for (const float v : drawn.values) EXPECT_TRUE(v >= 2 && v <= 9);
  expect_contains(fault("file(\"x.npy\", values=ones)"), "this one is dense");
}

TEST_F(Loading, InlineValuesTakeTheExpectedShape) {
  EXPECT_EQ(load_text("values(1,2,3,4)", {{2, 2}}, "dense,dense").shape,
            (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(load_text("values(5)", std::vector<int64_t>{}, "scalar").values[0], 5);
  EXPECT_EQ(load_text("values(5)", std::nullopt, "dense").shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(load_text("values(5,6)", {{-1}}, "dense").shape, (std::vector<int64_t>{2}));
  expect_contains(fault("values(1,2,3)", {{2, 2}}), "3 values");
  expect_contains(fault("values(1,2,3)", {{-1, 3}}), "negative extent");
}

TEST_F(Loading, OnnxComesFromTheRegisteredLoader) {
  expect_contains(fault("onnx(\"m.onnx\", \"W\")"), "no loader");
  register_onnx_loader(
      [](const Source& source, const std::string& path, const LoadOptions&) {
        const std::string& name = source.name;
        RawTensor raw;
        raw.origin = path;
        raw.shape = {static_cast<int64_t>(name.size())};
        raw.data = Buffer<float>(std::vector<float>(name.size(), 2));
        return raw;
      },
      [](const std::string& path) { return std::vector<std::string>{path + ".data"}; });
  EXPECT_EQ(weights_files_of("m.onnx"), std::vector<std::string>{"m.onnx.data"});
  EXPECT_EQ(load_text("onnx(\"m.onnx\", \"abc\")", {{3}}, "dense").stored(), 3);
  expect_contains(fault("onnx(\"m.onnx\", \"abc\")", {{4}}), "expected [4]");
  register_onnx_loader({}, {});
}

}  // namespace
}  // namespace fuseflow
