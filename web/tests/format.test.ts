import { expect, test } from "vitest";
import { bytes, change, count, percent } from "../src/common/format";

test("bytes have three digits in larger units", () => {
  expect(bytes(0)).toBe("0 B");
  expect(bytes(1023)).toBe("1,023 B");
  expect(bytes(1024)).toBe("1.00 KiB");
  expect(bytes(1_048_500)).toBe("1.00 MiB");
  expect(bytes(1023 * 1024)).toBe("1023 KiB");
  expect(bytes(123_456)).toBe("121 KiB");
  expect(bytes(-12_345_678)).toBe("-11.8 MiB");
  expect(bytes(1_234_567, "B")).toBe("1,234,567 B");
});

test("changes have a sign", () => {
  expect(change(10)).toBe("+10 B");
  expect(change(-10)).toBe("-10 B");
  expect(change(0)).toBe("0 B");
});

test("counts and shares", () => {
  expect(count(-0.2)).toBe("0");
  expect(count(1_234_567)).toBe("1,234,567");
  expect(percent(1, 8)).toBe("12.5 %");
  expect(percent(1, 0)).toBe("");
});
