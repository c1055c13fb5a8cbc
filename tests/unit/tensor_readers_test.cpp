// The text readers and the writers: good files, and every lie of a header.
#include "tensor/readers.h"

#include "tensor/write.h"
#include "tensor_testing.h"

namespace fuseflow {
namespace {

using testing::error_of;
using testing::expect_contains;
using testing::TemporaryFiles;

constexpr const char* kReal = "%%MatrixMarket matrix coordinate real general\n";

class Readers : public ::testing::Test {
 protected:
  Storage mtx(const std::string& text) {
    return to_storage(read_mtx(files_.write("a.mtx", text)), sparse_format(2));
  }
  std::string mtx_error(const std::string& text) {
    return error_of([&] { mtx(text); });
  }
  RawTensor tns(const std::string& text,
                const std::optional<std::vector<int64_t>>& shape = std::nullopt) {
    return read_tns(files_.write("a.tns", text), shape);
  }
  std::string tns_error(const std::string& text,
                        const std::optional<std::vector<int64_t>>& shape = std::nullopt) {
    return error_of([&] { tns(text, shape); });
  }
  std::string smtx_error(const std::string& text) {
    return error_of([&] { read_smtx(files_.write("a.smtx", text)); });
  }

  TemporaryFiles files_;
};

TEST_F(Readers, MtxCoordinateReal) {
  const Storage storage = mtx(std::string(kReal) +
                              "% a comment\n\n 2 3 4 \n1 1 1.5\n% another\n2\t3 -2e-3\r\n"
                              "1 3 +4\n2 1 0");
  EXPECT_EQ(storage.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(storage.stored(), 4);  // the explicit zero stays
  EXPECT_EQ(to_dense(storage), (std::vector<float>{1.5F, 0, 4, 0, 0, -2e-3F}));
}

TEST_F(Readers, MtxPatternIntegerAndSymmetries) {
  EXPECT_EQ(to_dense(mtx("%%matrixmarket MATRIX Coordinate Pattern General\n2 2 1\n2 1\n")),
            (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(
      to_dense(mtx("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 7\n2 1 -3\n")),
      (std::vector<float>{7, -3, -3, 0}));
  EXPECT_EQ(to_dense(mtx("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4\n")),
            (std::vector<float>{0, -4, 4, 0}));
  EXPECT_EQ(to_dense(mtx(std::string(kReal) + "0 3 0\n")), std::vector<float>());
}

TEST_F(Readers, MtxArrayIsColumnMajor) {
  const RawTensor raw = read_mtx(
      files_.write("a.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n"));
  EXPECT_FALSE(raw.sparse());
  EXPECT_EQ(std::get<Buffer<float>>(raw.data).to_vector(), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(to_dense(mtx("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n")),
            (std::vector<float>{1, 2, 2, 3}));
  EXPECT_EQ(to_dense(mtx("%%MatrixMarket matrix array integer skew-symmetric\n2 2\n5\n")),
            (std::vector<float>{0, -5, 5, 0}));
}

TEST_F(Readers, MtxValuesAtTheEdgesOfF32) {
  const Storage storage =
      mtx(std::string(kReal) + "1 4 4\n1 1 inf\n1 2 -nan\n1 3 1e-60\n1 4 1e-400\n");
  const auto values = storage.values.to_vector();
  EXPECT_TRUE(std::isinf(values[0]));
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(values[3], 0);
  expect_contains(mtx_error(std::string(kReal) + "1 1 1\n1 1 1e39\n"), "beyond the range of f32");
  expect_contains(mtx_error(std::string(kReal) + "1 1 1\n1 1 1e999\n"), "beyond the range of f32");
}

TEST_F(Readers, MtxRejectsBadBanners) {
  expect_contains(mtx_error(""), "1 1:1 not a Matrix Market file");
  expect_contains(mtx_error("hello\n"), "1 1:1 not a Matrix Market file");
  expect_contains(mtx_error("%%MatrixMarket matrix sparse real general\n"),
                  "unknown form 'sparse'");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"),
                  "field 'complex' is not supported");
  expect_contains(mtx_error("%%MatrixMarket matrix array pattern general\n"), "'pattern'");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate real hermitian\n"), "'hermitian'");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate pattern skew-symmetric\n"),
                  "no meaning");
  expect_contains(mtx_error("%%MatrixMarket vector coordinate real general\n"),
                  "not a Matrix Market");
}

TEST_F(Readers, MtxRejectsLyingHeaders) {
  const std::string head = kReal;
  expect_contains(mtx_error(head), "the file ends where the size line");
  expect_contains(mtx_error(head + "3 3\n"), "1 2:4 the line ends where the number of entries");
  expect_contains(mtx_error(head + "3 3 1 1\n"), "expected the end of the line");
  expect_contains(mtx_error(head + "-3 3 1\n"), "'-3' is no number for the number of rows");
  expect_contains(mtx_error(head + "3 3 99999999999999999999\n"), "is too large");
  expect_contains(mtx_error(head + "3 3 99999999999999999\n"), "has room for 0 at most");
  expect_contains(mtx_error(head + "9999999999 3 0\n"), "expected extents up to 4294967294");
  expect_contains(mtx_error(head + "3 3 3\n1 1 1.25\n2 2 1.25\n"),
                  "1 5:1 the file ends after 2 entries");
  expect_contains(mtx_error(head + "3 3 1\n1 1 1\n2 2 1\n"),
                  "1 4:1 more entries follow than the 1");
  expect_contains(mtx_error(head + "3 3 1\n4 1 1\n"),
                  "1 3:1 row 4 is out of range, expected 1 to 3");
  expect_contains(mtx_error(head + "3 3 1\n1 0 1\n"), "1 3:3 column 0 is out of range");
  expect_contains(mtx_error(head + "0 3 1\n1 1 1\n"), "the extent is 0");
  expect_contains(mtx_error(head + "3 3 1\n1 -1 1\n"), "'-1' is no number for column");
  expect_contains(mtx_error(head + "3 3 1\n1 1    \n"),
                  "1 3:1 an entry without a value, but the header says `real`");
  expect_contains(mtx_error(head + "3 3 2\n1 1 9.25\n1 2    \n"),
                  "1 4:8 the line ends where a value");
  expect_contains(mtx_error(head + "3 3 1\n1 1 x\n"), "1 3:5 'x' is not a value");
  expect_contains(mtx_error(head + "3 3 1\n1 1 1 1\n"), "1 3:7 unexpected '1'");
  expect_contains(mtx_error(head + "3 3 2\n2 1 1\n2 1 1\n"),
                  "1 4:1 row 2, column 1 is given again, after line 3");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"), "square");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n"),
                  "diagonal");
  expect_contains(mtx_error("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n"),
                  "1 3:5 '1.5' is not a whole number, but the header says `integer`");
  expect_contains(mtx_error("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n"),
                  "before the value of row 2, column 2");
  expect_contains(mtx_error("%%MatrixMarket matrix array real general\n1 1\n1\n2\n"),
                  "more values");
  expect_contains(mtx_error("%%MatrixMarket matrix array real general\n4000000000 4000000000\n"),
                  "has room for");
}

TEST_F(Readers, ANumberEndsAtABlank) {
  const std::string head = kReal;
  expect_contains(mtx_error(head + "3 3 1\n1 2-5\n"), "1 3:3 '2-5' is no number for column");
  expect_contains(mtx_error(head + "3 3 2\n1 2.5 4\n3 3 1\n"), "1 3:3 '2.5' is no number");
  expect_contains(mtx_error(head + "3 3 1\n1 2 5x\n"), "1 3:5 '5x' is not a value");
  expect_contains(mtx_error(head + "3 3 1\n1 2 1.5.5\n"), "1 3:5 '1.5.5' is not a value");
  expect_contains(mtx_error(head + "3 3.0 1\n1 2 5\n"), "1 2:3 '3.0' is no number");
  expect_contains(mtx_error(head + "3,3 1\n1 2 5\n"), "',3' is no number");
  expect_contains(tns_error("1 1 1 1.5\n2 3 2.5\n"), "1 2:5 '2.5' is no number for coordinate");
  expect_contains(tns_error("1 1 1 1.5\n2 3+2 5\n"), "1 2:3 '3+2' is no number for coordinate");
  EXPECT_EQ(tns("1 1 1.5#x\n").present(), 1);
  expect_contains(smtx_error("3, 4, 4\n0 2 2 4\n1 3 0 2.5\n"), "'2.5' is no number");
}

TEST_F(Readers, MtxMessagesNameTheCause) {
  const std::string matrix = "%%MatrixMarket matrix ";
  expect_contains(mtx_error(matrix + "coordinate pattern general\n3 3 1\n1 1 0.5\n"),
                  "1 3:1 an entry with a value, but the header says `pattern`");
  expect_contains(mtx_error(matrix + "coordinate integer general\n3 3 2\n1 1\n2 2\n"),
                  "1 3:1 an entry without a value, but the header says `integer`");
  expect_contains(mtx_error(matrix + "coordinate real symmetric\n3 3 3\n1 3 4\n2 1 5\n3 1 4\n"),
                  "1 5:1 row 3, column 1 is given, too, by line 3: the header says symmetric");
  expect_contains(mtx_error(matrix + "array real skew-symmetric\n3 3\n0\n2\n-3\n0\n7\n0\n"),
                  "1 6:1 more values follow than the 3 of a skew-symmetric array of 3 x 3");
  expect_contains(mtx_error(matrix + "array real symmetric\n2 2\n0\n2\n2\n3\n"),
                  "1 6:1 more values follow than the 3 of a symmetric array of 2 x 2");
}

TEST_F(Readers, AMarkOfTheEncodingIsPassedOver) {
  EXPECT_EQ(mtx(std::string("\xef\xbb\xbf") + kReal + "1 2 1\n1 2 3\n").stored(), 1);
  expect_contains(mtx_error(std::string("\xef\xbb\xbfx") + kReal), "1 1:1 not a Matrix Market");
}

TEST_F(Readers, MissingFileIsAnIoError) {
  const auto missing = files_.path("missing.mtx");
  EXPECT_EQ(error_of([&] { read_mtx(missing); }).substr(0, 2), "3 ");
  EXPECT_EQ(error_of([&] { read_tns(missing, std::nullopt); }).substr(0, 2), "3 ");
  EXPECT_EQ(error_of([&] { read_smtx(missing); }).substr(0, 2), "3 ");
}

TEST_F(Readers, TnsShapeIsTheLargestCoordinateOrDeclared) {
  const std::string text = "# FROSTT\n1 2 3 1.5\n2 1 1 -2 # comment\n\n";
  EXPECT_EQ(tns(text).shape, (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(tns(text, {{4, 4, 4}}).shape, (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(tns(text, {{4, -1, -1}}).shape, (std::vector<int64_t>{4, 2, 3}));
  EXPECT_EQ(tns("", {{2, 2}}).present(), 0);
  const Storage storage = to_storage(tns(text), sparse_format(3));
  EXPECT_EQ(storage.at(std::vector<int64_t>{0, 1, 2}), 1.5F);
  EXPECT_EQ(storage.at(std::vector<int64_t>{1, 0, 0}), -2.0F);
}

TEST_F(Readers, TnsRejects) {
  expect_contains(tns_error(""), "no entries, and so no shape");
  expect_contains(tns_error("1 1 1\n1 1\n"), "1 2:4 the line ends where a value");
  expect_contains(tns_error("1 1 1\n1 1 1 1\n"), "1 2:7 unexpected '1'");
  expect_contains(tns_error("0 1 1\n"), "1 1:1 coordinate 0 is out of range");
  expect_contains(tns_error("3 1 1\n", {{2, 2}}), "coordinate 3 is out of range, expected 1 to 2");
  expect_contains(tns_error("1 1 1\n", {{2, 2, 2}}), "expected 3 coordinates");
  expect_contains(tns_error("99999999999 1 1\n"), "out of range");
  expect_contains(tns_error("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"), "at most 16");
  expect_contains(error_of([&] { to_storage(tns("1 1 2\n#\n1 1 3\n"), sparse_format(2)); }),
                  "1 3:1 these coordinates are given again, after line 1");
}

TEST_F(Readers, SmtxIsAPattern) {
  const RawTensor raw = read_smtx(files_.write("a.smtx", "3, 4, 4\n0 2 2 4\n1 3 0 2\n"));
  EXPECT_EQ(to_dense(to_storage(raw, sparse_format(2))),
            (std::vector<float>{0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(read_smtx(files_.write("b.smtx", "1, 4, 0\n0 0\n\n")).present(), 0);
}

TEST_F(Readers, SmtxRejects) {
  expect_contains(smtx_error(""), "1 1:1 the line ends where the number of rows");
  expect_contains(smtx_error("3 4 4\n"), "expected a comma");
  expect_contains(smtx_error("3, 4, 999999\n0 2 2 4\n1 3 0 2\n"), "has room for");
  expect_contains(smtx_error("999999999, 4, 4\n0 2 2 4\n1 3 0 2\n"), "has room for");
  expect_contains(smtx_error("3, 4, 4\n0 2 1 4\n1 3 0 2\n"),
                  "row offset 1 is out of range, expected 2 to 4");
  expect_contains(smtx_error("3, 4, 4\n1 2 2 4\n1 3 0 2\n"), "row offset 1 is out of range");
  expect_contains(smtx_error("3, 4, 4\n0 2 2 3\n1 3 0 2\n"), "the last row offset is 3");
  expect_contains(smtx_error("3, 4, 4\n0 2 2 4\n1 4 0 2\n"),
                  "1 3:3 column index 4 is out of range");
  expect_contains(smtx_error("3, 4, 4\n0 2 2 4\n1 3 0\n"), "the line ends where column index");
  expect_contains(smtx_error("3, 4, 4\n0 2 2 4\n1 3 0 2 2\n"), "unexpected '2'");
  expect_contains(smtx_error("3, 4, 4\n0 2 2 4\n1 3 0 2\nx\n"), "text after the column indices");
}

TEST_F(Readers, WritersRoundTrip) {
  const auto elements = testing::random_elements(30, 0.3, 0, 9);
  for (const char* text :
       {"dense,compressed", "compressed,singleton@1,0", "dense,dense", "dense,bitvector[2x2]"}) {
    const Storage storage = from_dense(elements, {6, 5}, parse_format(text));
    write_tensor(files_.path("w.mtx"), storage);
    EXPECT_EQ(to_dense(to_storage(read_mtx(files_.path("w.mtx")), sparse_format(2))), elements);
    EXPECT_EQ(mtx_text(storage), mtx_text(convert(storage, sparse_format(2))));
    write_tensor(files_.path("w.tns"), storage);
    EXPECT_EQ(to_dense(to_storage(read_tns(files_.path("w.tns"), {{6, 5}}), sparse_format(2))),
              elements);
  }
  const Storage ones = from_coo({2, 2}, {{1}, {0}}, {1}, sparse_format(2));
  EXPECT_EQ(mtx_text(ones, true), "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n");
}

TEST_F(Readers, WritersRefuseWhatAFileCannotHold) {
  const Storage masked = from_coo({2, 2}, {{1}, {0}}, {3}, sparse_format(2), -INFINITY);
  expect_contains(error_of([&] { mtx_text(masked); }), "fill -inf");
  expect_contains(error_of([&] { tns_text(masked); }), "fill -inf");
  const Storage cube = from_coo({2, 2, 2}, {{1}, {0}, {0}}, {3}, sparse_format(3));
  expect_contains(error_of([&] { mtx_text(cube); }), "3 dimensions");
  const Storage matrix = from_coo({2, 2}, {{1}, {0}}, {3}, sparse_format(2));
  expect_contains(error_of([&] { mtx_text(matrix, true); }), "all of them to be 1");
  expect_contains(error_of([&] { write_tensor(files_.path("a.csv"), matrix); }), "'.csv'");
  EXPECT_EQ(error_of([&] { write_tensor("/nonexistent/a.npy", matrix); }).substr(0, 2), "3 ");
}

}  // namespace
}  // namespace fuseflow
