/** Checks the digit that every card number ends with (ISO/IEC 7812-1). */
export function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i]);
    if (i % 2 === 1 && (digit *= 2) > 9) digit -= 9;
    sum += digit;
  }
  return sum % 10 === 0 && !/^(\d)\1+$/.test(digits);
}

/**
 * Checks an IBAN (ISO 13616): with the first four characters moved to the end and letters as numbers, the remainder by
 * 97 is 1.
 */
export function isIban(chars: string): boolean {
  if (chars.length < 14 || chars.length > 34) return false;
  let rest = 0;
  for (const char of chars.slice(4) + chars.slice(0, 4))
    for (const digit of String(Number.parseInt(char, 36))) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}
