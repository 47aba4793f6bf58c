import { nearestName } from '../lib/nearest-name.ts';

const single =
  'ACCOUNT_NUMBER AGE DATE DATE_INTERVAL DOB DRIVER_LICENSE DURATION EMAIL_ADDRESS EVENT FILENAME GENDER ' +
  'HEALTHCARE_NUMBER IP_ADDRESS LANGUAGE LOCATION LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY ' +
  'LOCATION_COORDINATE LOCATION_COUNTRY LOCATION_STATE LOCATION_ZIP MARITAL_STATUS MONEY NAME NAME_FAMILY NAME_GIVEN ' +
  'NAME_MEDICAL_PROFESSIONAL NUMERICAL_PII OCCUPATION ORGANIZATION ORGANIZATION_MEDICAL_FACILITY ORIGIN ' +
  'PASSPORT_NUMBER PASSWORD PHONE_NUMBER PHYSICAL_ATTRIBUTE POLITICAL_AFFILIATION RELIGION SEXUALITY SSN TIME URL ' +
  'USERNAME VEHICLE_ID ZODIAC_SIGN BLOOD_TYPE CONDITION DOSE DRUG INJURY MEDICAL_PROCESS STATISTICS BANK_ACCOUNT ' +
  'CREDIT_CARD CREDIT_CARD_EXPIRATION CVV ROUTING_NUMBER CORPORATE_ACTION DAY EFFECT FINANCIAL_METRIC MEDICAL_CODE ' +
  'MONTH ORGANIZATION_ID PRODUCT PROJECT TREND YEAR';

/** The types that an entity can have. */
export const entityTypes: readonly string[] = single.split(' ');

const identity = words(
  'DOB DRIVER_LICENSE EMAIL_ADDRESS HEALTHCARE_NUMBER IP_ADDRESS PASSPORT_NUMBER SSN',
);
const place = words(
  'LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY LOCATION_COORDINATE LOCATION_ZIP',
);
const name = words('NAME NAME_FAMILY NAME_GIVEN NAME_MEDICAL_PROFESSIONAL');
const payment = words('BANK_ACCOUNT CREDIT_CARD CREDIT_CARD_EXPIRATION CVV');
const medical = words('BLOOD_TYPE CONDITION DRUG INJURY MEDICAL_PROCESS');
const person = [...identity, ...place, ...name, ...payment];

const gdpr = [
  ...person,
  ...medical,
  ...words('AGE LANGUAGE LOCATION LOCATION_COUNTRY LOCATION_STATE NUMERICAL_PII PHONE_NUMBER'),
  ...words('URL USERNAME VEHICLE_ID'),
];

/**
 * A preset's name stands for a set of types. This is the only table: requests are checked and texts are redacted by it.
 * The contents of three presets are not published. CORE_ENTITIES and LIDI are taken as everything that identifies or
 * reaches a person, NUMERICAL_EXCL_PCI as every kind of number that names a person or a place and is no means of
 * payment, including post codes.
 */
export const entityPresets: Readonly<Record<string, readonly string[]>> = {
  APPI: [
    ...person,
    ...words('AGE DRUG LOCATION LOCATION_COUNTRY LOCATION_STATE NUMERICAL_PII OCCUPATION'),
    ...words('ORGANIZATION ORGANIZATION_MEDICAL_FACILITY PASSWORD PHONE_NUMBER VEHICLE_ID'),
  ],
  APPI_SENSITIVE: words(
    'CONDITION DRUG GENDER INJURY LANGUAGE MARITAL_STATUS MEDICAL_PROCESS ORIGIN PHYSICAL_ATTRIBUTE ' +
      'POLITICAL_AFFILIATION RELIGION SEXUALITY',
  ),
  CCI: [
    ...payment,
    ...words('ACCOUNT_NUMBER DATE DATE_INTERVAL DRUG EMAIL_ADDRESS FILENAME LOCATION'),
    ...words('LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY LOCATION_COUNTRY'),
    ...words('LOCATION_STATE LOCATION_ZIP MEDICAL_PROCESS MONEY NUMERICAL_PII OCCUPATION'),
    ...words('ORGANIZATION PASSWORD ROUTING_NUMBER TIME URL VEHICLE_ID'),
  ],
  CORE_ENTITIES: [...person, 'PHONE_NUMBER'],
  CPRA: [
    ...person,
    ...medical,
    ...words('GENDER NUMERICAL_PII ORIGIN PASSWORD PHONE_NUMBER PHYSICAL_ATTRIBUTE'),
    ...words('POLITICAL_AFFILIATION RELIGION SEXUALITY URL USERNAME VEHICLE_ID'),
  ],
  GDPR: gdpr,
  GDPR_SENSITIVE: words(
    'GENDER LANGUAGE ORIGIN PHYSICAL_ATTRIBUTE POLITICAL_AFFILIATION RELIGION SEXUALITY',
  ),
  HEALTH_INFORMATION: [...medical, 'DOSE', 'STATISTICS'],
  HIPAA_SAFE_HARBOR: [
    ...person,
    ...words(
      'ACCOUNT_NUMBER AGE DATE DATE_INTERVAL LOCATION NUMERICAL_PII PHONE_NUMBER URL VEHICLE_ID',
    ),
  ],
  LIDI: gdpr,
  NUMERICAL_EXCL_PCI: words(
    'ACCOUNT_NUMBER NUMERICAL_PII SSN DRIVER_LICENSE HEALTHCARE_NUMBER LOCATION_ZIP PASSPORT_NUMBER PHONE_NUMBER ' +
      'VEHICLE_ID',
  ),
  PCI: [...payment, 'ROUTING_NUMBER'],
  QUEBEC_PRIVACY_ACT: [
    ...person,
    ...medical,
    ...words('AGE DATE DATE_INTERVAL NUMERICAL_PII OCCUPATION ORGANIZATION'),
    ...words(
      'ORGANIZATION_MEDICAL_FACILITY ORIGIN PHONE_NUMBER POLITICAL_AFFILIATION RELIGION STATISTICS',
    ),
  ],
};

/** Names that a request or a setting may use: single types and presets. */
export const entityTypeNames: readonly string[] = [...entityTypes, ...Object.keys(entityPresets)];

/** The reason why a name cannot be used, with the name that was probably meant. Undefined for a valid name. */
export function unknownEntityType(name: string): string | undefined {
  if (entityTypeNames.includes(name)) return undefined;
  const near = nearestName(name, entityTypeNames);
  return `is no entity type${near === undefined ? '' : `, did you mean ${near}?`}`;
}

/** The single types that names stand for, each once. Throws for an unknown name, which would cover nothing. */
export function expandEntityTypes(names: readonly string[]): string[] {
  for (const name of names) {
    const problem = unknownEntityType(name);
    if (problem !== undefined) throw new RangeError(`${name} ${problem}`);
  }
  return [...new Set(names.flatMap((name) => presetTypes(name) ?? [name]))];
}

/** Only the table's own names count, not names that every object inherits. */
function presetTypes(name: string): readonly string[] | undefined {
  return Object.hasOwn(entityPresets, name) ? entityPresets[name] : undefined;
}

/**
 * The name of a type in a redaction marker: `[NAME_1]` for every kind of name, `[EMAIL_1]`, otherwise the type's own
 * name.
 */
export function markerLabel(entityType: string): string {
  if (['NAME', 'NAME_GIVEN', 'NAME_FAMILY'].includes(entityType)) return 'NAME';
  return entityType === 'EMAIL_ADDRESS' ? 'EMAIL' : entityType;
}

function words(text: string): string[] {
  return text.split(' ');
}
